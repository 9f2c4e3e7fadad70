import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { textAnswer } from '../daemon.ts';
import { MAIN } from '../polypod.ts';
import { mcpFixture, type McpFixture, type Result } from './fixture.ts';

const run = promisify(execFile);

/** The gate installs it where Node 24 is available: it needs a newer Node than Polypod. */
const hasInspector = (() => {
  try {
    execFileSync('mcp-inspector', ['--cli', '--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

async function inspect(
  { project, home, env }: McpFixture,
  era: string,
  ...args: readonly string[]
): Promise<Result> {
  const variables = Object.entries({ ...env, OLLAMA_HOST: 'http://127.0.0.1:9' });
  const { stdout } = await run(
    'mcp-inspector',
    [
      ...['--cli', '--cwd', project, '--protocol-era', era],
      ...variables.flatMap(([name, value]) => ['-e', `${name}=${value}`]),
      ...[process.execPath, MAIN, 'mcp', 'serve', ...args],
    ],
    { cwd: project, env: { PATH: process.env.PATH, HOME: home } },
  );
  return JSON.parse(stdout);
}

describe.skipIf(!hasInspector).each(['legacy', 'modern'])(
  'the official MCP inspector, with the %s revision of the protocol',
  (era) => {
    it('finds no problem in the schemas of the tools', async () => {
      const fixture = await mcpFixture();
      const { tools } = await inspect(fixture, era, '--method', 'tools/list', '--strict');
      expect(tools.map(({ name }: Result) => name)).toContain('prompt');
    });

    it('calls tools and reads transcripts', async () => {
      const fixture = await mcpFixture([textAnswer('Hi.')]);
      await fixture.serve();
      const tool = async (name: string, args: object): Promise<Result> => {
        const json = ['--tool-name', name, '--tool-args-json', JSON.stringify(args)];
        return (await inspect(fixture, era, '--method', 'tools/call', ...json)).structuredContent;
      };
      const { session } = await tool('prompt', { text: 'Hello' });
      await expect
        .poll(async () => (await tool('list_sessions', {})).sessions, { timeout: 60_000 })
        .toMatchObject([{ session, state: 'idle' }]);
      expect(await tool('read_session', { session })).toMatchObject({
        items: [{ text: 'Hello' }, { text: 'Hi.' }],
      });
      const { resources } = await inspect(fixture, era, '--method', 'resources/list');
      expect(resources).toMatchObject([{ uri: `polypod://sessions/${session}` }]);
      const { contents } = await inspect(
        fixture,
        era,
        '--method',
        'resources/read',
        '--uri',
        resources[0].uri,
      );
      expect(contents[0].text).toContain('Hi.');
    });
  },
);

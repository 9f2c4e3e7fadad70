import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { objectOf } from '../../../src/base/index.ts';
import { cliFixture } from '../../cli/daemon.ts';
import { temporaryDirectory } from '../../cli/polypod.ts';
import { Program } from './program.ts';

const TOUCH = `[[sim tool=bash args='{"command":"touch made.txt"}']]`;
const SIM = ['--model', 'sim/offline'];

/** Starts hosts of one user: each in its own process, or all with one daemon. */
async function hosts(where: 'in its process' | 'in the daemon') {
  if (where === 'in its process') {
    const home = temporaryDirectory();
    return { home, host: (...args: readonly string[]) => new Program([...SIM, ...args], { HOME: home }) };
  }
  const fixture = await cliFixture();
  await fixture.serve('--offline');
  return {
    home: fixture.home,
    host: (...args: readonly string[]) => new Program([...SIM, ...args], fixture.env),
  };
}

async function toolsOf(program: Program): Promise<readonly string[]> {
  const { dumpTools } = await program.get('get_state');
  return (Array.isArray(dumpTools) ? dumpTools : []).map((tool: unknown) => String(objectOf(tool).name));
}

/** The result of a call to a tool that the model was not offered. */
async function calling(program: Program): Promise<JsonObject> {
  const lines = await program.run(TOUCH);
  return lines.find(({ type }) => type === 'tool_execution_end') ?? {};
}

const REFUSED = {
  toolName: 'bash',
  isError: true,
  result: { content: [{ type: 'text', text: 'Tool bash not found' }] },
};

describe.each(['in its process', 'in the daemon'] as const)('a host that removes tools, %s', (where) => {
  it.each([
    [['-nt'], []],
    [
      ['-t', 'read,ls'],
      ['read', 'ls'],
    ],
    [['-nbt'], []],
  ])(
    '%j: the agent has no bash in this session, a new one, an old one and after a restart',
    async (args, tools) => {
      const { home, host } = await hosts(where);
      const free = host();
      await free.run('[[sim text=before]]');
      const { sessionFile } = await free.get('get_state');
      await free.end();

      const limited = host(...args);
      expect((await toolsOf(limited)).toSorted()).toEqual(tools.toSorted());
      expect(await calling(limited)).toMatchObject(REFUSED);
      await limited.get('new_session');
      expect(await calling(limited)).toMatchObject(REFUSED);
      // A session that had all tools before.
      await limited.get('switch_session', { sessionPath: String(sessionFile) });
      expect((await toolsOf(limited)).toSorted()).toEqual(tools.toSorted());
      expect(await calling(limited)).toMatchObject(REFUSED);
      await limited.end();

      const again = host(...args, '--session', String(sessionFile));
      expect(await calling(again)).toMatchObject(REFUSED);
      await again.get('clone');
      expect(await calling(again)).toMatchObject(REFUSED);
      // A bash command of the host is not a tool of the agent.
      expect(await again.get('bash', { command: 'echo mine' })).toMatchObject({ output: 'mine\n' });
      await again.end();
      expect(existsSync(join(home, 'made.txt'))).toBe(false);

      // The limit was the host's: it does not apply to another host of the session.
      const other = host('--session', String(sessionFile));
      expect(await calling(other)).toMatchObject({ toolName: 'bash', isError: false });
      expect(existsSync(join(home, 'made.txt'))).toBe(true);
    },
  );

  it('can offer a tool under a name that it removed', async () => {
    const { host } = await hosts(where);
    const limited = host('-nbt');
    const bash = { name: 'bash', description: 'Runs it elsewhere.', parameters: { type: 'object' } };
    expect(await limited.get('set_host_tools', { tools: [bash] })).toEqual({ toolNames: ['bash'] });
    limited.send({ type: 'prompt', message: TOUCH });
    const { id } = await limited.waitFor(({ type }) => type === 'host_tool_call');
    limited.send({
      type: 'host_tool_result',
      id,
      result: { content: [{ type: 'text', text: 'elsewhere' }] },
    });
    expect(await limited.waitFor(({ type }) => type === 'tool_execution_end')).toMatchObject({
      result: { content: [{ text: 'elsewhere' }] },
    });
    await limited.quiet();
  });

  it('hides the project’s instructions from the model with -nc', async () => {
    const { home, host } = await hosts(where);
    writeFileSync(join(home, 'AGENTS.md'), 'Always answer in verse.');
    const plain = host();
    expect(String((await plain.get('get_state')).systemPrompt)).toContain('Always answer in verse.');
    const limited = host('-nc');
    expect(String((await limited.get('get_state')).systemPrompt)).not.toContain('Always answer in verse.');
    await limited.run('[[sim text=ok]]');
    await limited.get('new_session');
    expect(String((await limited.get('get_state')).systemPrompt)).not.toContain('Always answer in verse.');
  });
});

describe('--offline', () => {
  const answer = (lines: readonly JsonObject[]): JsonObject =>
    objectOf(
      lines.findLast(({ type, message }) => type === 'message_end' && objectOf(message).role === 'assistant')
        ?.message,
    );

  it('refuses models that are not on this machine, without a retry', async () => {
    const home = temporaryDirectory();
    const program = new Program(['--offline', '--model', 'openai/gpt-6'], {
      HOME: home,
      OPENAI_API_KEY: 'sk-secret',
    });
    expect(await program.get('get_state')).toMatchObject({ model: { provider: 'openai' } });
    const lines = await program.run('hello');
    expect(answer(lines)).toMatchObject({
      stopReason: 'error',
      errorMessage: expect.stringContaining(
        'cannot connect to api.openai.com: --offline allows connections to this machine only',
      ) as unknown,
    });
    expect(lines.some(({ type }) => type === 'auto_retry_start')).toBe(false);
  });

  it('uses the configured model if it is on this machine', async () => {
    const { startSim } = await import('../../../src/sim/index.ts');
    const sim = await startSim({ script: [{ parts: [{ text: 'from the configured model' }] }] });
    const home = temporaryDirectory();
    const configFile = join(home, 'config.yaml');
    const config = {
      model: 'local/one',
      accounts: { local: { wire: 'anthropic', base_url: sim.url, key: 'any' } },
      mcp_servers: { far: { type: 'http', url: 'https://mcp.example.com/' } },
    };
    writeFileSync(configFile, JSON.stringify(config), { mode: 0o600 });
    const program = new Program(['--offline'], { HOME: home, POLYPOD_CONFIG: configFile });
    expect(answer(await program.run('hello'))).toMatchObject({
      provider: 'local',
      content: [{ text: 'from the configured model' }],
    });
    const { stderr } = await program.end();
    expect(stderr).toContain('the MCP server far is not on this machine, and ignored because of --offline');
    await sim.close();
  });
});

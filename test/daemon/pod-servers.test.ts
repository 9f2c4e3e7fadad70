import { expect, onTestFinished, test } from 'vitest';
import { PodMcpServers } from '../../src/setup/agents/pod-mcp-servers.ts';
import type { McpServerSpec, McpServerStatus, StdioSpec } from '../../src/mcp/index.ts';
import { EVERYTHING, isAlive, scripted, temporaryDirectory } from '../mcp/stage.ts';

/** As a client writes it. */
const given = (...specs: readonly StdioSpec[]) => ({
  mcpServers: Object.fromEntries(
    specs.map(({ name, command, args }) => [name, { command, args: [...args] }]),
  ),
});

const EVERYTHING_GIVEN = { mcpServers: { everything: { command: process.execPath, args: [EVERYTHING] } } };

function serversOf(configured: readonly McpServerSpec[]) {
  const pids = new Map<string, number>();
  const servers = new PodMcpServers(configured, {
    env: { PATH: process.env.PATH },
    secretEnv: [],
    cwd: temporaryDirectory(),
    clientVersion: '0.0.0',
    onChange: ({ name, pid }: McpServerStatus) => {
      if (pid !== undefined) pids.set(name, pid);
    },
  });
  onTestFinished(() => servers.close());
  const names = async (config?: ReturnType<typeof given>) =>
    (await servers.tools(config === undefined ? {} : { mcpConfig: config })).map(({ name }) => name);
  return { servers, names, pid: (name: string) => pids.get(name) ?? 0 };
}

test('a pod has the tools of the servers that it is given, beside those that are configured', async () => {
  const { servers, names, pid } = serversOf([scripted('', { name: 'one' })]);
  expect(await names()).toEqual(['mcp__one__echo']);
  const both = await names(EVERYTHING_GIVEN);
  expect(both).toEqual(expect.arrayContaining(['mcp__one__echo', 'mcp__everything__get-sum']));
  const everything = pid('everything');
  expect(isAlive(everything)).toBe(true);
  // The same again, as it is read from a file: nothing is started anew.
  expect(await names(structuredClone(EVERYTHING_GIVEN))).toEqual(both);
  expect(pid('everything')).toBe(everything);
  await servers.close();
  expect([pid('one'), everything].map(isAlive)).toEqual([false, false]);
});

test('servers that are given later take the place of those before, which end', async () => {
  const { servers, names, pid } = serversOf([]);
  const [one, other] = [scripted('', { name: 'one' }), scripted('', { name: 'other' })];
  expect(await names(given(one))).toEqual(['mcp__one__echo']);
  const before = pid('one');
  expect(await names(given(other))).toEqual(['mcp__other__echo']);
  expect(await names()).toEqual([]);
  await servers.close();
  expect([before, pid('other')].map(isAlive)).toEqual([false, false]);
});

test('a server that is given counts before a configured one of its name', async () => {
  const { names } = serversOf([scripted('', { name: 'files' })]);
  const own = scripted("tools = [tool('mine')];", { name: 'files' });
  expect(await names(given(own))).toEqual(['mcp__files__mine']);
});

test('a mistake in what is given is told, and the servers stay', async () => {
  const { servers, names, pid } = serversOf([scripted('', { name: 'one' })]);
  await names();
  const wrong = { mcpServers: { files: { comand: 'x' } } };
  await expect(servers.tools({ mcpConfig: wrong })).rejects.toThrow(
    'server "files": comand is not a key: did you mean "command"?',
  );
  await expect(servers.tools({ mcpConfig: wrong })).rejects.toThrow('server "files"');
  expect(isAlive(pid('one'))).toBe(true);
});

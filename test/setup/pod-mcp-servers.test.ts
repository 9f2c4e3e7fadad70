import { expect, onTestFinished, test } from 'vitest';
import { PodMcpServers } from '../../src/setup/agents/pod-mcp-servers.ts';
import type { McpServerSpec, McpServerStatus, StdioSpec } from '../../src/mcp/index.ts';
import { EVERYTHING, isAlive, scripted, temporaryDirectory } from '../mcp/fixture.ts';

/** The format of a client's settings. */
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

test('a pod has the tools of its client’s servers and of the configured ones', async () => {
  const { servers, names, pid } = serversOf([scripted('', { name: 'one' })]);
  expect(await names()).toEqual(['mcp__one__echo']);
  const both = await names(EVERYTHING_GIVEN);
  expect(both).toEqual(expect.arrayContaining(['mcp__one__echo', 'mcp__everything__get-sum']));
  const everything = pid('everything');
  expect(isAlive(everything)).toBe(true);
  // Equal settings do not restart the servers.
  expect(await names(structuredClone(EVERYTHING_GIVEN))).toEqual(both);
  expect(pid('everything')).toBe(everything);
  await servers.close();
  expect([pid('one'), everything].map(isAlive)).toEqual([false, false]);
});

test('new servers of a client replace and end the previous ones', async () => {
  const { servers, names, pid } = serversOf([]);
  const [one, other] = [scripted('', { name: 'one' }), scripted('', { name: 'other' })];
  expect(await names(given(one))).toEqual(['mcp__one__echo']);
  const before = pid('one');
  expect(await names(given(other))).toEqual(['mcp__other__echo']);
  expect(await names()).toEqual([]);
  await servers.close();
  expect([before, pid('other')].map(isAlive)).toEqual([false, false]);
});

test('a client’s server replaces a configured one with the same name', async () => {
  const { names } = serversOf([scripted('', { name: 'files' })]);
  const own = scripted("tools = [tool('mine')];", { name: 'files' });
  expect(await names(given(own))).toEqual(['mcp__files__mine']);
});

test('invalid settings are reported, and the servers stay', async () => {
  const { servers, names, pid } = serversOf([scripted('', { name: 'one' })]);
  await names();
  const wrong = { mcpServers: { files: { comand: 'x' } } };
  await expect(servers.tools({ mcpConfig: wrong })).rejects.toThrow(
    'server "files": comand is not a key: did you mean "command"?',
  );
  await expect(servers.tools({ mcpConfig: wrong })).rejects.toThrow('server "files"');
  expect(isAlive(pid('one'))).toBe(true);
});

test('the servers of an editor are added to those of other clients, with the values that it gave', async () => {
  const { servers, names, pid } = serversOf([scripted('', { name: 'one' })]);
  const [other, own] = [scripted('', { name: 'other' }), scripted('', { name: 'own' })];
  const mcpConfig = given(other);
  const editorServers = { own: { command: own.command, args: [...own.args], env: ['API_TOKEN'] } };
  const toolsWith = async (editorValues: Readonly<Record<string, Readonly<Record<string, string>>>>) =>
    (await servers.tools({ mcpConfig, editorServers, editorValues })).map(({ name }) => name);
  expect(await toolsWith({})).toEqual(['mcp__one__echo', 'mcp__other__echo']);
  expect(pid('own')).toBe(0);
  const all = ['mcp__one__echo', 'mcp__other__echo', 'mcp__own__echo'];
  expect(await toolsWith({ own: { API_TOKEN: '' } })).toEqual(all);
  const before = pid('own');
  expect(await toolsWith({ own: { API_TOKEN: 'secret' } })).toEqual(all);
  expect(pid('own')).not.toBe(before);
  expect(await names(mcpConfig)).toEqual(['mcp__one__echo', 'mcp__other__echo']);
});

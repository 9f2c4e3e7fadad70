import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringOf } from '../../../src/base/index.ts';
import { daemonLink } from '../../../src/daemon/index.ts';
import { dataPathsFrom } from '../../../src/setup/index.ts';
import { acpFixture, describeWithAndWithoutDaemon, shown, textAnswer } from './fixture.ts';

describeWithAndWithoutDaemon((openFixture) => {
  test('session/load requests that are sent at once are all answered, and updates are then sent once', async () => {
    const { editor, cwd } = await openFixture([textAnswer('Hello'), textAnswer('Again')]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    await one.prompt(sessionId, 'hi');
    const load = () => one.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
    await Promise.allSettled([load(), load(), load()]);
    const before = one.updates(sessionId).length;
    expect(await one.prompt(sessionId, 'again')).toBe('end_turn');
    // The answers come in order: whatever else was sent for the run came before this one.
    await one.agent.request('session/list', {});
    const after = shown(one.updates(sessionId).slice(before)).filter((line) => line.startsWith('agent'));
    expect(after).toEqual(['agent_message: Again']);
  });
});

test('a session that a client loads while it disconnects is unloaded', async () => {
  const { editor, cwd, env, home } = await acpFixture([textAnswer('Hello')], {
    daemon: true,
    config: { hibernate_after: '1s' },
  });
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'hi');
  await one.end();
  const paths = dataPathsFrom(env);
  const link = await daemonLink(paths);
  if (link === undefined) throw new Error('no daemon is up');
  const unloaded = async (): Promise<void> => {
    while (!/^polypod_pods 0$/m.test(stringOf((await link.call('metrics', {})).text)));
  };
  await unloaded();
  const socket = connect({ path: join(paths.runtimeDirectory, 'acp.sock') });
  const params = { sessionId, cwd, mcpServers: [], additionalDirectories: [home] };
  const lines = [
    { by: 'ada', setup: { command: 'polypod', args: [] } },
    { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: 1 } },
    { jsonrpc: '2.0', id: 1, method: 'session/load', params },
  ];
  // The settings are changed first: that loads the session from disk, and the connection ends meanwhile.
  socket.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  socket.resume();
  await once(socket, 'close');
  const two = await editor();
  await two.agent.request('session/resume', { sessionId, cwd });
  await two.end();
  await unloaded();
  link.close();
}, 60_000);

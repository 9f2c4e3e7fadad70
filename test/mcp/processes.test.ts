import { describe, expect, test } from 'vitest';
import { type PidServer, pidServer, isAlive, StoppedClock, scripted, mcpFixture } from './fixture.ts';

/** Starts a helper that ignores the end of its input and SIGTERM. */
const helper = (bell: PidServer) => `
  const helper = spawn(process.execPath, ['-e', ${JSON.stringify(STUBBORN)}], { stdio: ['ignore', 'pipe', 'inherit'] });
  helper.stdout.once('data', () => { ${bell.report('helper.pid')} });
`;
const STUBBORN = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('ready');`;

describe('closing leaves no process behind', () => {
  test('of a server that exits when its input ends', async () => {
    const { servers } = mcpFixture([scripted('')]);
    await servers.tools();
    const pid = servers.status()[0]?.pid ?? 0;
    expect(isAlive(pid)).toBe(true);
    await servers.close();
    expect(isAlive(pid)).toBe(false);
    expect(servers.status()).toMatchObject([{ state: 'closed' }]);
  });

  test('of a server that needs SIGTERM', async () => {
    const { servers } = mcpFixture([scripted('setInterval(() => {}, 1000);')], { graceMs: 200 });
    await servers.tools();
    const pid = servers.status()[0]?.pid ?? 0;
    await servers.close();
    expect(isAlive(pid)).toBe(false);
  });

  test('of a server that ignores SIGTERM, with its helpers', async () => {
    const bell = await pidServer();
    const { servers } = mcpFixture([scripted(STUBBORN.replace(/console.*/, '') + helper(bell))], {
      graceMs: 200,
    });
    await servers.tools();
    const pids = [servers.status()[0]?.pid ?? 0, await bell.next()];
    expect(pids.map(isAlive)).toEqual([true, true]);
    await servers.close();
    expect(pids.map(isAlive)).toEqual([false, false]);
  });

  test('of a server that is closed twice or was never used', async () => {
    const { servers, statuses } = mcpFixture([scripted('')]);
    await Promise.all([servers.close(), servers.close()]);
    expect(statuses).toMatchObject([{ state: 'closed' }]);
    expect(await servers.tools()).toEqual([]);
  });

  test('while a server waits for its restart', async () => {
    const { servers } = mcpFixture([scripted('process.exit(1);')], { clock: new StoppedClock() });
    await servers.tools();
    await servers.close();
    expect(servers.status()).toMatchObject([{ state: 'closed' }]);
  });
});

test('a crashing server leaves no helper behind, even one that holds its streams', async () => {
  const bell = await pidServer();
  const clock = new StoppedClock();
  const code = `${helper(bell)} methods['tools/call'] = () => process.exit(1);`;
  const { servers, call, until } = mcpFixture([scripted(code)], { clock, graceMs: 200 });
  await servers.tools();
  const pid = await bell.next();
  expect((await call('mcp__test__echo')).isError).toBe(true);
  clock.wake();
  await until(({ state }) => state === 'ready');
  expect(isAlive(pid)).toBe(false);
});

test('a call after close reports that', async () => {
  const { servers, call } = mcpFixture([scripted('')]);
  await servers.tools();
  await servers.close();
  expect(await call('mcp__test__echo')).toMatchObject({
    isError: true,
    content: [
      { text: 'The MCP server "test" is unavailable\nIt was closed with its session: continue without it.' },
    ],
  });
});

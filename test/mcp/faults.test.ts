import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/mcp/index.ts';
import {
  pidServer,
  isAlive,
  StoppedClock,
  outputText,
  scripted,
  mcpFixture,
  stdio,
  temporaryDirectory,
} from './fixture.ts';

/** A clock on which no time has to pass. */
function instantClock(): Clock & { readonly slept: readonly number[] } {
  const slept: number[] = [];
  return { slept, now: () => 0, sleep: async (ms) => void slept.push(ms) };
}

const DIES_ON_DEMAND = `
  methods['tools/call'] = ({ params }) => {
    if (!params.arguments.die) return text('fine, ' + process.pid);
    console.error('the disk is full');
    process.exit(3);
  };
`;

describe('a crashing server', () => {
  test('fails the pending call, is reported, and restarts', async () => {
    const clock = new StoppedClock();
    const { servers, call, statuses, until } = mcpFixture([scripted(DIES_ON_DEMAND)], { clock });
    await servers.tools();
    const [first] = servers.status();
    const lost = await call('mcp__test__echo', { die: true });
    expect(lost).toMatchObject({ isError: true, details: { server: 'test', tool: 'echo' } });
    expect(outputText(lost)).toBe(
      [
        'The MCP server "test" was lost during the call: it ended with exit code 3; its last output was:',
        'the disk is full',
        'It is unknown whether the call had an effect. It restarts in 0.5 s (restart 1 of 5): call again after that, or continue without it.',
      ].join('\n'),
    );
    expect(servers.status()).toEqual([
      {
        name: 'test',
        transport: 'stdio',
        state: 'restarting',
        tools: 1,
        error: 'it ended with exit code 3; its last output was:\nthe disk is full',
      },
    ]);

    const during = await call('mcp__test__echo');
    expect(during.isError).toBe(true);
    expect(outputText(during)).toBe(
      [
        'The MCP server "test" is unavailable: it ended with exit code 3; its last output was:',
        'the disk is full',
        'It restarts in 0.5 s (restart 1 of 5): call again after that, or continue without it.',
      ].join('\n'),
    );

    clock.wake();
    const back = await until(({ state }) => state === 'ready');
    expect(back).toMatchObject({ state: 'ready', tools: 1, version: 'scripted 1.0' });
    expect(back.pid).not.toBe(first?.pid);
    expect(outputText(await call('mcp__test__echo'))).toBe(`fine, ${back.pid}`);
    expect(statuses.map(({ state }) => state)).toEqual([
      'connecting',
      'ready',
      'restarting',
      'connecting',
      'ready',
    ]);
  });

  test('fails every pending call', async () => {
    const { call, servers } = mcpFixture(
      [scripted(`methods['tools/call'] = ({ params }) => params.arguments.die && process.exit(1);`)],
      {
        clock: new StoppedClock(),
      },
    );
    await servers.tools();
    const outputs = await Promise.all([
      call('mcp__test__echo'),
      call('mcp__test__echo', { die: true }),
      call('mcp__test__echo'),
    ]);
    for (const output of outputs) expect(outputText(output)).toContain('it ended with exit code 1');
  });

  test('that crashes right after its answer has answered', async () => {
    const { call } = mcpFixture(
      [
        scripted(
          `methods['tools/call'] = () => (setImmediate(() => process.exit(0)), text('x'.repeat(40_000)));`,
        ),
      ],
      { clock: new StoppedClock() },
    );
    expect(outputText(await call('mcp__test__echo'))).toHaveLength(40_000);
  });

  test('at every start is restarted at growing intervals, and then given up', async () => {
    const clock = instantClock();
    const { servers, until, statuses } = mcpFixture(
      [scripted(`console.error('no licence'); process.exit(1);`)],
      {
        clock,
      },
    );
    expect(await servers.tools()).toEqual([]);
    const end = await until(({ state }) => state === 'failed');
    expect(end).toMatchObject({
      tools: 0,
      error: 'it ended with exit code 1; its last output was:\nno licence',
    });
    expect(clock.slept).toEqual([500, 1000, 2000, 4000, 8000]);
    expect(statuses.filter(({ state }) => state === 'connecting')).toHaveLength(6);
  });

  test('that was stable for long resets the restart count', async () => {
    const clock = new StoppedClock();
    const { servers, call, until } = mcpFixture([scripted(DIES_ON_DEMAND)], { clock });
    await servers.tools();
    for (const livedMs of [0, 59_999, 60_000]) {
      clock.time += livedMs;
      await call('mcp__test__echo', { die: true });
      clock.wake();
      await until(({ state }) => state === 'ready');
    }
    expect(clock.slept).toEqual([500, 1000, 500]);
  });

  test('that was given up gets another attempt when it is called', async () => {
    const flag = join(temporaryDirectory(), 'broken');
    const code = `if (existsSync(${JSON.stringify(flag)})) process.exit(1); ${DIES_ON_DEMAND}`;
    const restart = { maxRestarts: 1, baseMs: 1, capMs: 1, stableMs: 1000 };
    const { servers, call, until } = mcpFixture([scripted(code)], { clock: instantClock(), restart });
    await servers.tools();
    writeFileSync(flag, '');
    await call('mcp__test__echo', { die: true });
    await until(({ state }) => state === 'failed');
    rmSync(flag);
    const output = await call('mcp__test__echo');
    expect(output.isError).toBe(true);
    expect(outputText(output)).toContain('makes one more attempt now: call again in a moment');
    await until(({ state }) => state === 'ready');
    expect((await call('mcp__test__echo')).isError).toBe(false);
  });

  test('does not affect the others', async () => {
    const dying = scripted('process.exit(1);', { name: 'dying' });
    const working = scripted('', { name: 'sound' });
    const { servers, call } = mcpFixture([dying, working], { clock: new StoppedClock() });
    expect((await servers.tools()).map(({ name }) => name)).toEqual(['mcp__sound__echo']);
    expect(outputText(await call('mcp__sound__echo', { a: 1 }))).toBe('{"a":1}');
    expect(servers.status()).toMatchObject([{ state: 'restarting' }, { state: 'ready' }]);
  });
});

describe('a server that cannot be started', () => {
  test.each([
    [
      'a program that does not exist',
      { command: 'no-such-program' },
      /^"no-such-program" was not found on PATH.*: install it, .*correct its name/,
    ],
    [
      'a directory that does not exist',
      { cwd: 'nowhere' },
      /^the working directory .+\/nowhere does not exist: create it, or correct the working directory \(cwd\)$/,
    ],
    [
      'a file that is not executable',
      { command: '/etc/passwd' },
      /^permission to execute "\/etc\/passwd" is denied: make it executable \(chmod \+x\), or choose another program$/,
    ],
  ])('%s is reported at once and not retried', async (_, more, error) => {
    const clock = new StoppedClock();
    const { servers } = mcpFixture([stdio([], more)], { clock });
    expect(await servers.tools()).toEqual([]);
    expect(servers.status()).toMatchObject([{ state: 'failed', error: expect.stringMatching(error) }]);
    expect(clock.slept).toEqual([]);
  });
});

describe('a server that hangs', () => {
  const HANGS = `
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1000);
    methods.initialize = () => undefined;
  `;

  test('during initialization is ended, and the others wait no longer than the limit', async () => {
    const bell = await pidServer();
    const slow = scripted(HANGS + bell.report('process.pid'), { name: 'slow' });
    const { servers } = mcpFixture([slow, scripted('', { name: 'quick' })], {
      connectTimeoutMs: 3000,
      graceMs: 100,
      clock: new StoppedClock(),
    });
    expect((await servers.tools()).map(({ name }) => name)).toEqual(['mcp__quick__echo']);
    expect(servers.status()).toMatchObject([
      { state: 'restarting', error: 'it did not answer within 3 s' },
      { state: 'ready' },
    ]);
    expect(isAlive(await bell.next())).toBe(false);
  });

  test('during initialization can be closed', async () => {
    const bell = await pidServer();
    const { servers } = mcpFixture([scripted(HANGS + bell.report('process.pid'))], { graceMs: 100 });
    const tools = servers.tools();
    const pid = await bell.next();
    expect(isAlive(pid)).toBe(true);
    await servers.close();
    expect(await tools).toEqual([]);
    expect(isAlive(pid)).toBe(false);
    expect(servers.status()).toMatchObject([{ state: 'closed' }]);
  });

  test('at the tool list is reported', async () => {
    const { servers } = mcpFixture([scripted(`methods['tools/list'] = () => undefined;`)], {
      connectTimeoutMs: 1000,
      clock: new StoppedClock(),
    });
    await servers.tools();
    expect(servers.status()).toMatchObject([{ state: 'restarting', error: 'it did not answer within 1 s' }]);
  });

  test('in a call is notified of the cancellation, and can be called again', async () => {
    const { call } = mcpFixture([
      scripted(
        `
            const cancelled = [];
            methods['notifications/cancelled'] = ({ params }) => void cancelled.push(params.requestId);
            methods['tools/call'] = ({ id, params }) => {
              if (params.arguments.hang) { cancelled.push('started ' + id); return undefined; }
              return text(cancelled.join());
            };
          `,
        { callTimeoutMs: 200 },
      ),
    ]);
    const output = await call('mcp__test__echo', { hang: true });
    expect(output).toMatchObject({
      isError: true,
      summary: 'echo of the MCP server "test" was cancelled after 0.2 s without an answer or progress',
    });
    expect(outputText(await call('mcp__test__echo'))).toMatch(/^started (\d+),\1$/);
  });
});

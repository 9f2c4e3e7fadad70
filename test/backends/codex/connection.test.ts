import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  command,
  isInstalled,
  wasSent,
  makeDirectories,
  ofType,
  open,
  processesWith,
  run,
  simulate,
  textOf,
  withToolKinds,
} from './fixture.ts';

const done = { parts: [{ text: 'Done.' }] };
const skip = !isInstalled;

describe('a turn', () => {
  test.skipIf(skip)('reports the session, thoughts, text, usage and its end', async () => {
    const sim = await simulate([{ parts: [{ thinking: 'Hm.' }, { text: 'Hello there.' }] }]);
    const { turn, events } = await open(sim);
    const reported = await turn('Hi');
    expect(ofType(events, 'session')).toMatchObject([{ sessionId: expect.any(String), model: 'gpt-test' }]);
    expect(textOf(reported)).toBe('Hello there.');
    expect(
      ofType(reported, 'thinking')
        .map(({ text }) => text)
        .join(''),
    ).toBe('Hm.');
    expect(ofType(reported, 'usage')).toMatchObject([{ usage: { inputTokens: expect.any(Number) } }]);
    expect(ofType(reported, 'context')).toHaveLength(1);
    expect(reported.at(-1)).toEqual({ type: 'turn-end', outcome: { status: 'finished' } });
  });

  test.skipIf(skip)('sends images to the model', async () => {
    const sim = await simulate([done]);
    const { connection, next } = await open(sim);
    const data =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    connection.prompt([
      { type: 'text', text: 'What is this?' },
      { type: 'image', mediaType: 'image/png', data },
    ]);
    await next('turn-end');
    expect(wasSent(sim, 'data:image/png;base64,')).toBe(true);
  });

  test.skipIf(skip)('uses the model and the effort of the settings', async () => {
    const sim = await simulate([done, done]);
    const { turn, connection } = await open(sim, { settings: { model: 'first', system: 'Be brief.' } });
    await turn('One');
    expect(sim.requests.at(-1)?.body).toMatchObject({ model: 'first' });
    expect(wasSent(sim, 'Be brief.')).toBe(true);
    await connection.configure({
      mode: 'read-only',
      paths: [],
      model: 'second',
      thinking: 'high',
      system: 'Be brief.',
    });
    await turn('Two');
    expect(sim.requests.at(-1)?.body).toMatchObject({ model: 'second' });
    await expect(connection.configure({ mode: 'read-only', paths: [], system: 'Other.' })).rejects.toThrow(
      'system prompt',
    );
  });

  test.skipIf(skip)('reports that a request is repeated, and the error of the provider', async () => {
    const sim = await simulate(() => ({ parts: [], fault: { kind: '401' } }));
    const { turn } = await open(sim);
    const reported = await turn('Hi');
    expect(ofType(reported, 'retry')).toMatchObject([
      { attempt: 1, maxAttempts: 1, failure: { kind: 'auth', httpStatus: 401 } },
    ]);
    expect(reported.at(-1)).toMatchObject({
      type: 'turn-end',
      outcome: { status: 'failed', failure: { kind: 'auth', httpStatus: 401 } },
    });
  });
});

describe('a command', () => {
  test.skipIf(skip)('runs after it was approved, and its output is reported', async () => {
    const sim = await simulate([
      { parts: [{ text: 'Let me.' }, run("printf 'a b\\n' > out.txt && cat out.txt")] },
      done,
    ]);
    const { turn, directories } = await open(sim);
    const reported = await turn('Go');
    expect(readFileSync(join(directories.cwd, 'out.txt'), 'utf8')).toBe('a b\n');
    const [permission] = ofType(reported, 'permission');
    const script = "printf 'a b\\n' > out.txt && cat out.txt";
    expect(permission?.request.call).toMatchObject({
      tool: 'bash',
      title: script,
      access: [{ type: 'command', command: script, cwd: directories.cwd }],
    });
    expect(ofType(reported, 'call-end')).toMatchObject([
      { status: 'done', output: { isError: false, content: [{ text: 'a b' }], details: { exitCode: 0 } } },
    ]);
    expect(ofType(reported, 'usage')).toHaveLength(2);
  });

  test.skipIf(skip)('does not run if it was denied, and the model receives the reason', async () => {
    const sim = await simulate([{ parts: [run('touch made')] }, done]);
    const { turn, directories } = await open(sim, {
      approve: () => ({ decision: 'deny', reason: 'Use make instead.' }),
    });
    const reported = await turn('Go');
    expect(existsSync(join(directories.cwd, 'made'))).toBe(false);
    expect(ofType(reported, 'call-end')).toMatchObject([{ status: 'denied' }]);
    expect(wasSent(sim, 'Permission for `touch made` was denied: Use make instead.')).toBe(true);
    expect(ofType(reported, 'steered')).toEqual([]);
    expect(reported.at(-1)).toMatchObject({ outcome: { status: 'finished' } });
  });

  test.skipIf(skip)('asks although it only reads', async () => {
    const sim = await simulate([{ parts: [run('ls')] }, done]);
    const { turn } = await open(sim);
    expect(ofType(await turn('Go'), 'permission')).toHaveLength(1);
  });

  test.skipIf(skip)('that fails reports its exit code', async () => {
    const sim = await simulate([{ parts: [run('echo no >&2; exit 3')] }, done]);
    const { turn } = await open(sim);
    expect(ofType(await turn('Go'), 'call-end')).toMatchObject([
      {
        status: 'failed',
        output: { isError: true, details: { exitCode: 3 }, content: [{ text: 'no\n[exit code 3]' }] },
      },
    ]);
  });

  test.skipIf(skip)('runs in parallel with others, each with its own approval', async () => {
    const sim = await simulate([{ parts: [run('touch one'), run('touch two'), run('touch three')] }, done]);
    const { turn, directories } = await open(sim, {
      approve: ({ call }) =>
        call.title === 'touch two' ? { decision: 'deny', reason: 'No.' } : { decision: 'allow' },
    });
    const reported = await turn('Go');
    expect(readdirSync(directories.cwd).toSorted()).toEqual(['one', 'three']);
    expect(
      ofType(reported, 'call-end')
        .map(({ status }) => status)
        .toSorted(),
    ).toEqual(['denied', 'done', 'done']);
  });

  test.skipIf(skip)(
    'runs once, also where nothing outside the project is writable in a sandbox',
    async () => {
      const directories = makeDirectories();
      const outside = join(directories.root, 'outside');
      const sim = await simulate([{ parts: [run(`echo x >> log; echo y >> ${outside}`)] }, done]);
      const { turn } = await open(sim, { directories });
      await turn('Go');
      expect(readFileSync(join(directories.cwd, 'log'), 'utf8')).toBe('x\n');
      expect(readFileSync(outside, 'utf8')).toBe('y\n');
    },
  );

  const unshared = [
    'unshare',
    '-Ur',
    'sh',
    '-c',
    'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"',
    'sh',
  ] as const;
  const cannotUnshare = spawnSync('unshare', [...unshared.slice(1), 'true']).status !== 0;

  test.skipIf(skip || cannotUnshare)('runs where Codex has no sandbox', async () => {
    const sim = await simulate([{ parts: [run('touch made')] }, done]);
    const { turn, directories } = await open(sim, { command: [...unshared, ...command] });
    await turn('Go');
    expect(existsSync(join(directories.cwd, 'made'))).toBe(true);
  });

  test.skipIf(skip)('gets no terminal, to which Codex would send input without asking', async () => {
    const sim = await simulate([{ parts: [run('bash', { tty: true })] }, done]);
    const { turn } = await open(sim);
    expect(ofType(await turn('Go'), 'permission')).toEqual([]);
    expect(wasSent(sim, 'TTY execution is disabled')).toBe(true);
  });

  test.skipIf(skip)('does not receive the keys of Codex', async () => {
    const sim = await simulate([{ parts: [run('env')] }, done]);
    const { turn } = await open(sim, { env: { OPENAI_API_KEY: 'sk-secret-of-the-user' } });
    await turn('Go');
    expect(wasSent(sim, 'POLYPOD_CALL=')).toBe(true);
    expect(wasSent(sim, 'sk-secret-of-the-user')).toBe(false);
    expect(wasSent(sim, 'key-for-tests')).toBe(false);
  });

  test.skipIf(skip)('that runs on when the model continues ends with the connection', async () => {
    const sim = await simulate([{ parts: [run('sleep 4001', { yield_time_ms: 250 })] }, done]);
    const { turn, connection, directories } = await open(sim);
    const reported = await turn('Go');
    expect(ofType(reported, 'call-end')).toMatchObject([
      { status: 'done', output: { summary: 'sleep 4001: still running' } },
    ]);
    expect(reported.at(-1)).toMatchObject({ outcome: { status: 'finished' } });
    expect(processesWith(directories.home).some((one) => one.command.includes('sleep 4001'))).toBe(true);
    await connection.close();
    expect(processesWith(directories.home)).toEqual([]);
  });
});

describe('a patch', () => {
  const patch = (body: string) => run(`apply_patch <<'EOF'\n*** Begin Patch\n${body}\n*** End Patch\nEOF\n`);
  const update = patch('*** Update File: a.txt\n@@\n one\n-two\n+TWO');

  test.skipIf(skip)('is applied after it was approved, and is reported as a diff', async () => {
    const sim = await simulate([{ parts: [update] }, done]);
    const directories = makeDirectories();
    writeFileSync(join(directories.cwd, 'a.txt'), 'one\ntwo\nthree\n');
    const { turn } = await open(sim, { directories });
    const reported = await turn('Go');
    expect(readFileSync(join(directories.cwd, 'a.txt'), 'utf8')).toBe('one\nTWO\nthree\n');
    const [permission] = ofType(reported, 'permission');
    expect(permission?.request.call).toMatchObject({ tool: 'edit', title: 'edit a.txt' });
    const [read, write] = permission?.request.call.access ?? [];
    const path = join(directories.cwd, 'a.txt');
    expect(read).toEqual({ type: 'read', path });
    expect(write?.type === 'write' && write.after?.('one\ntwo\nthree\n')).toBe('one\nTWO\nthree\n');
    expect(ofType(reported, 'call-end')).toMatchObject([
      {
        status: 'done',
        output: {
          details: {
            diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n',
            added: 1,
            removed: 1,
          },
        },
      },
    ]);
  });

  test.skipIf(skip)('is not applied if it was denied', async () => {
    const sim = await simulate([{ parts: [patch('*** Add File: new.txt\n+hello')] }, done]);
    const { turn, directories } = await open(sim, {
      approve: () => ({ decision: 'deny', reason: 'No files.' }),
    });
    const reported = await turn('Go');
    expect(ofType(reported, 'permission')[0]?.request.call).toMatchObject({
      tool: 'write',
      arguments: JSON.stringify({ path: 'new.txt', content: 'hello\n' }),
    });
    expect(readdirSync(directories.cwd)).toEqual([]);
    expect(wasSent(sim, 'No files.')).toBe(true);
  });

  test.skipIf(skip)('asks if the model has a tool of its own for it', async () => {
    const input = '*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n';
    const sim = await simulate([
      { parts: [{ toolCall: { name: 'custom::apply_patch', arguments: { input } } }] },
      done,
    ]);
    const { turn, directories } = await open(await withToolKinds(sim), { settings: { model: 'gpt-5.5' } });
    expect(ofType(await turn('Go'), 'permission')).toHaveLength(1);
    expect(readFileSync(join(directories.cwd, 'new.txt'), 'utf8')).toBe('hello\n');
  });
});

describe('cancel', () => {
  test.skipIf(skip)('ends a turn while the model writes', async () => {
    const sim = await simulate([
      { parts: [{ text: 'Once upon a time' }], pace: { deltas: 1_000, delayMs: 20 } },
      done,
    ]);
    const { connection, next, turn } = await open(sim);
    connection.prompt([{ type: 'text', text: 'Tell a story' }]);
    await next('text');
    connection.cancel();
    expect(await next('turn-end')).toEqual({ type: 'turn-end', outcome: { status: 'cancelled' } });
    expect(textOf(await turn('Stop'))).toBe('Done.');
  });

  test.skipIf(skip)('ends the processes of a command, and the session continues', async () => {
    const script =
      'sleep 4002 & setsid sleep 4003 & (setsid nohup sleep 4004 >/dev/null 2>&1 &) ; touch started; sleep 4005';
    const sim = await simulate([{ parts: [run(script)] }, done]);
    const { connection, next, turn, directories } = await open(sim);
    connection.prompt([{ type: 'text', text: 'A first message' }]);
    await expect.poll(() => existsSync(join(directories.cwd, 'started'))).toBe(true);
    connection.cancel();
    expect(await next('turn-end')).toEqual({ type: 'turn-end', outcome: { status: 'cancelled' } });
    expect(processesWith(directories.home).filter((one) => one.command.includes('sleep 400'))).toEqual([]);
    expect(await next('call-end')).toMatchObject({ status: 'interrupted' });
    expect(textOf(await turn('A second message'))).toBe('Done.');
    expect(wasSent(sim, 'A first message')).toBe(true);
    await connection.close();
    expect(processesWith(directories.home)).toEqual([]);
  });

  test.skipIf(skip)('withdraws an open request for permission', async () => {
    const sim = await simulate([{ parts: [run('touch made')] }, done]);
    const { connection, next, directories, turn } = await open(sim, { approve: () => undefined });
    connection.prompt([{ type: 'text', text: 'Go' }]);
    const { request } = await next('permission');
    connection.cancel();
    expect(await next('permission-withdrawn')).toEqual({
      type: 'permission-withdrawn',
      requestId: request.requestId,
    });
    expect(await next('turn-end')).toEqual({ type: 'turn-end', outcome: { status: 'cancelled' } });
    connection.answer(request.requestId, { decision: 'allow' });
    await turn('Next');
    expect(existsSync(join(directories.cwd, 'made'))).toBe(false);
  });

  test.skipIf(skip)('ends a turn that has just been started', async () => {
    const sim = await simulate([{ parts: [{ text: 'Once' }], pace: { deltas: 1_000, delayMs: 20 } }]);
    const { connection, next } = await open(sim);
    connection.prompt([{ type: 'text', text: 'Go' }]);
    connection.cancel();
    expect(await next('turn-end')).toEqual({ type: 'turn-end', outcome: { status: 'cancelled' } });
  });
});

describe('steer', () => {
  test.skipIf(skip)('adds a message while a command waits for approval', async () => {
    const sim = await simulate([{ parts: [run('true')] }, done]);
    const { connection, next } = await open(sim, { approve: () => undefined });
    connection.prompt([{ type: 'text', text: 'Go' }]);
    const { request } = await next('permission');
    connection.steer?.([{ type: 'text', text: 'And be quick' }]);
    connection.answer(request.requestId, { decision: 'allow' });
    await next('steered');
    expect(await next('turn-end')).toMatchObject({ outcome: { status: 'finished' } });
    expect(wasSent(sim, 'And be quick')).toBe(true);
  });

  test.skipIf(skip)('adds a message while the model writes', async () => {
    const sim = await simulate((request) =>
      JSON.stringify(request.body).includes('Shorter, please')
        ? done
        : { parts: [{ text: 'Once upon a time' }], pace: { deltas: 1_000, delayMs: 20 } },
    );
    const { connection, next } = await open(sim);
    connection.prompt([{ type: 'text', text: 'Tell a story' }]);
    await next('text');
    connection.steer?.([{ type: 'text', text: 'Shorter, please' }]);
    await next('steered');
    expect(await next('turn-end')).toMatchObject({ outcome: { status: 'finished' } });
  });
});

describe('a session', () => {
  test.skipIf(skip)('continues in a new process after Codex was killed', async () => {
    const sim = await simulate([{ parts: [{ text: 'The number is 7.' }] }, { parts: [run('true')] }, done]);
    const first = await open(sim, { approve: () => undefined });
    await first.turn('Which number?');
    const { sessionId } = await first.next('session');
    first.connection.prompt([{ type: 'text', text: 'Work' }]);
    await first.next('permission');
    for (const { pid } of processesWith(`CODEX_HOME=${first.directories.home}`)) process.kill(pid, 'SIGKILL');
    expect(await first.ended).toMatchObject({ message: expect.stringContaining('SIGKILL') });
    const second = await open(sim, { directories: first.directories, start: { type: 'resume', sessionId } });
    expect(await second.next('session')).toMatchObject({ sessionId });
    expect(textOf(await second.turn('Again'))).toBe('Done.');
    expect(wasSent(sim, 'The number is 7.')).toBe(true);
    expect(ofType(second.events, 'usage')).toHaveLength(1);
  });

  test.skipIf(skip)('can be continued as another one', async () => {
    const sim = await simulate([{ parts: [{ text: 'The number is 7.' }] }, done, done]);
    const first = await open(sim);
    await first.turn('Which number?');
    const { sessionId } = await first.next('session');
    const fork = await open(sim, { directories: first.directories, start: { type: 'fork', sessionId } });
    expect((await fork.next('session')).sessionId).not.toBe(sessionId);
    await fork.turn('In the copy');
    expect(wasSent(sim, 'The number is 7.')).toBe(true);
    await first.turn('In the original');
    expect(wasSent(sim, 'In the copy')).toBe(false);
  });

  test.skipIf(skip)('that does not exist is refused', async () => {
    const sim = await simulate([]);
    const start = { type: 'resume', sessionId: '01a1ef2d-5590-7e13-a193-9ff9ca882c3f' } as const;
    await expect(open(sim, { start })).rejects.toThrow('no rollout found');
  });

  test.skipIf(skip)('is replaced by a summary on request', async () => {
    const sim = await simulate([
      { parts: [{ text: 'Much text.' }] },
      { parts: [{ text: 'The summary.' }] },
      done,
    ]);
    const { turn, connection, next } = await open(sim);
    await turn('Hi');
    connection.compact?.({});
    expect(await next('compacted')).toMatchObject({ summary: 'The summary.' });
    expect(await next('turn-end')).toMatchObject({ outcome: { status: 'finished' } });
    await turn('Next');
    expect(wasSent(sim, 'The summary.')).toBe(true);
    expect(wasSent(sim, 'Much text.')).toBe(false);
  });
});

test.skipIf(skip)('a program that ends during a turn is reported with its errors', async () => {
  const sim = await simulate([{ parts: [{ text: 'Once' }], pace: { deltas: 1_000, delayMs: 20 } }]);
  const wrapper = ['sh', '-c', '"$@"; echo "the last words" >&2; exit 7', 'sh'] as const;
  const { connection, next, ended, directories } = await open(sim, { command: [...wrapper, ...command] });
  connection.prompt([{ type: 'text', text: 'Go' }]);
  await next('text');
  const programs = processesWith(`CODEX_HOME=${directories.home}`).filter(
    (one) => !one.command.startsWith('sh '),
  );
  for (const { pid } of programs) process.kill(pid, 'SIGKILL');
  expect(await ended).toEqual({
    message: 'it ended with exit code 7',
    stderr: expect.stringContaining('the last words'),
  });
});

test.skipIf(skip)('a program that does not start is reported with its errors', async () => {
  const sim = await simulate([]);
  await expect(open(sim, { config: 'model_provider = 3' })).rejects.toThrow();
  await expect(open(sim, { command: ['/does/not/exist'] })).rejects.toThrow('/does/not/exist');
});

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { objectOf } from '../../src/base/index.ts';
import { bash } from '../../src/tools/bash.ts';
import { printedText, type Sandbox, type ToolOutput } from '../../src/tools/index.ts';
import { addFiles, callTool, invalidText, toolFixture, outputText } from './fixture.ts';
import { survivorsOf, token } from './survivors.ts';

/** Whether perl can end its main thread and keep another: programs in JavaScript cannot. Linux on x86-64 and arm64. */
function hasPerlThreads(): boolean {
  return (
    process.platform === 'linux' &&
    spawnSync('perl', ['-Mthreads', '-e', '1'], { stdio: 'ignore' }).status === 0
  );
}

async function run(command: string, more: object = {}): Promise<ToolOutput> {
  return await toolFixture().call(bash, { command, ...more });
}

describe('a command', () => {
  test('returns its output in order', async () => {
    const output = await run('echo one; echo two >&2; echo three');
    expect(output).toEqual({
      summary: expect.stringMatching(/^echo one; echo two >&2; echo three: done in \d+\.\d s$/),
      content: [{ type: 'text', text: 'one\ntwo\nthree' }],
      isError: false,
      details: {
        exitCode: 0,
        signal: null,
        endedBy: 'itself',
        durationMs: expect.any(Number),
        outputBytes: 14,
        outputLineEnds: 3,
        printedLength: 13,
        trimmed: '\n',
      },
    });
  });

  test('keeps the order of many small writes to both outputs', async () => {
    const output = await run('for i in $(seq 200); do echo $i; echo $i >&2; done');
    expect(outputText(output).split('\n')).toEqual(
      Array.from({ length: 400 }, (_, index) => String(Math.floor(index / 2) + 1)),
    );
  });

  test('returns its outputs separately for a program that requests it, which models cannot', async () => {
    const command = 'echo one; echo two >&2; echo three; echo four > /dev/stderr; exit 3';
    const output = await run(command, { apart: true });
    expect(output.details).toMatchObject({ stdout: 'one\nthree\n', stderr: 'two\nfour\n', exitCode: 3 });
    const lines = outputText(output).split('\n');
    expect(lines.slice(0, -1).toSorted()).toEqual(['four', 'one', 'three', 'two']);
    expect(lines.at(-1)).toBe('[exit code 3]');
    expect((await run(command)).details).not.toHaveProperty('stderr');
    expect(Object.keys(objectOf(bash.parameters.properties))).toEqual(['command', 'timeout', 'background']);
  });

  test('with separate outputs ends background processes on either of them', async () => {
    const mark = token();
    const sleeper = `(setsid env -i "$(command -v sleep)" ${mark} > /dev/null &)`;
    const output = await run(`${sleeper}; echo begun`, { apart: true });
    expect(output.details).toMatchObject({ stdout: 'begun\n', exitCode: 0 });
    expect(survivorsOf(mark)).toEqual([]);
  });

  test.each(['true', 'echo', 'printf "one\\n\\n  "', 'echo "[exit code 3]"; exit 3', 'sleep 600 & echo one'])(
    'marks its own output separately from notes: %s',
    async (command) => {
      const output = await run(`exec 2>&1; ${command}`);
      const plain = execFileSync('bash', ['-c', `(${command.replace('sleep 600 &', '')}) || true`], {
        encoding: 'utf8',
      });
      expect(printedText(output)).toBe(plain);
    },
  );

  test('can open its outputs by name', async () => {
    expect(outputText(await run('echo one > /dev/stderr; echo two | tee /dev/stdout > /dev/stderr'))).toBe(
      'one\ntwo\ntwo',
    );
  });

  test('runs in the working directory with exactly the given environment', async () => {
    const fixture = toolFixture({ 'here.txt': '' });
    expect(outputText(await fixture.call(bash, { command: 'ls; pwd' }))).toBe(
      `here.txt\n${fixture.directory}`,
    );
    const names = outputText(await fixture.call(bash, { command: 'env' }))
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(new Set(names)).toEqual(new Set(['PATH', 'HOME', 'POLYPOD_CALL', 'PWD', 'SHLVL', '_']));
  });

  test('has no input and no terminal', async () => {
    expect(
      outputText(await run('cat; read x; echo "end $?"; tty; (: < /dev/tty) 2>&1 | tail -c 26')),
    ).toMatch(/^end 1\nnot a tty\n/);
  });

  test('without output reports that', async () => {
    expect(outputText(await run('true'))).toBe('(no output)');
  });

  test('that fails reports its exit code', async () => {
    const output = await run('echo broken; exit 3');
    expect(outputText(output)).toBe('broken\n[exit code 3]');
    expect(output).toMatchObject({ isError: true, details: { exitCode: 3 } });
    expect(output.summary).toBe('echo broken; exit 3: exit code 3');
    expect(outputText(await run('no-such-program'))).toContain('[exit code 127]');
    expect(outputText(await run('if'))).toContain('syntax error');
  });

  test('ended by a signal reports the signal', async () => {
    const output = await run('kill -SEGV $$');
    expect(outputText(output)).toBe('(no output)\n[ended by SIGSEGV]');
    expect(output).toMatchObject({ isError: true, details: { exitCode: null, signal: 'SIGSEGV' } });
  });

  test('uses bash, or sh if there is no bash', async () => {
    expect(outputText(await run('echo ${BASH_VERSION:+bash}'))).toBe('bash');
    const fixture = toolFixture();
    mkdirSync(fixture.path('bin'));
    symlinkSync('/bin/echo', fixture.path('bin/echo'));
    const withoutBash = toolFixture({}, { env: { PATH: fixture.path('bin') } });
    expect(outputText(await withoutBash.call(bash, { command: 'echo sh' }))).toBe('sh');
  });

  test('can print bytes that are not text', async () => {
    expect(outputText(await run(String.raw`printf 'a\xffb\x00c'`))).toBe('a\ufffdb\ufffdc');
  });

  test('that cannot be started reports the next step', async () => {
    const fixture = toolFixture();
    rmSync(fixture.directory, { recursive: true });
    const gone = await fixture.call(bash, { command: 'true' });
    expect(gone.isError).toBe(true);
    expect(outputText(gone)).toContain(
      `The command could not be started: the working directory ${fixture.directory} does not exist. Create it`,
    );
    expect(outputText(await run(`: ${'x'.repeat(200_000)}`))).toContain('it is too long. Write it to a file');
  });

  test('runs in the sandbox if there is one', async () => {
    const fixture = toolFixture();
    const finished: string[] = [];
    const sandbox: Sandbox = {
      prepare: async ({ program, args, cwd, text, approved }) => ({
        program: '/usr/bin/env',
        args: [`IN=${cwd} ${text} ${approved}`, program, ...args],
        env: { PATH: process.env.PATH ?? '' },
        descriptors: [],
        finish: async (printed) => {
          finished.push(printed);
          return ['[undone]'];
        },
      }),
    };
    const output = await callTool(bash, { command: 'echo in $IN' }, { ...fixture.context, sandbox });
    expect(outputText(output)).toBe(`in ${fixture.directory} echo in $IN false\n[undone]`);
    expect(finished).toEqual([`in ${fixture.directory} echo in $IN false\n`]);
  });

  test('reports its access and its title', () => {
    expect(bash.prepare({ command: 'npm test &&\n echo done' }, '/w')).toMatchObject({
      access: [{ type: 'command', command: 'npm test &&\n echo done', cwd: '/w' }],
      title: 'npm test && echo done',
    });
    expect(invalidText(bash, { command: ' ' })).toContain('command: must be a command');
    expect(invalidText(bash, { command: 'a\0b' })).toContain('without zero characters');
    expect(invalidText(bash, { command: 'a', timeout: 120_000 })).toContain('is in seconds, 3600 at most');
  });
});

describe('long output', () => {
  test('is returned as its beginning and end, with a file that contains all of it', async () => {
    const fixture = toolFixture();
    const output = await fixture.call(bash, { command: 'seq 100000' });
    const text = outputText(output);
    expect(text).toMatch(/^1\n2\n3\n/);
    expect(text).toMatch(/\n\d+\n\[… 558 KB omitted here …\]\n\d+\n/);
    expect(text).toMatch(/\n99999\n100000\n\[all 588 KB of output are in .+; use grep or read on it\]$/);
    expect(text.length).toBeLessThan(31_000);
    const full = readFileSync(String(output.details?.outputFile), 'utf8');
    expect(full).toBe(Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join(''));
    expect(statSync(String(output.details?.outputFile)).mode & 0o777).toBe(0o600);
    expect(readdirSync(fixture.context.scratch)).toHaveLength(1);
  });

  test('that just fits is returned in full, without a file', async () => {
    const output = await run('head -c 30720 /dev/zero | tr "\\0" x');
    expect(outputText(output)).toBe('x'.repeat(30_720));
    expect(output.details).not.toHaveProperty('outputFile');
  });

  test('is never cut inside a character', async () => {
    expect(outputText(await run("yes 日本語日本語 | head -c 100000 | tr -d '\\n'; true"))).not.toMatch(
      /\ufffd[^[]*\[…|…\]\n\ufffd/,
    );
  });

  test('is saved as far as the disk allows, and the command continues', async () => {
    const fixture = toolFixture();
    const scratch = fixture.path('gone');
    const command = `rm -r ${scratch}; seq 100000; echo the end`;
    const output = await callTool(bash, { command }, { ...fixture.context, scratch });
    expect(outputText(output)).toContain('\nthe end');
    expect(output.isError).toBe(false);
    expect(output.details).not.toHaveProperty('outputFile');
  });
});

describe('updates', () => {
  test('are sent while output arrives, but at a limited rate', async () => {
    const fixture = toolFixture();
    const start = performance.now();
    await fixture.call(bash, { command: 'for i in $(seq 100); do echo line $i; sleep 0.005; done' });
    expect(fixture.updates.length).toBeGreaterThan(2);
    // At most ten per second.
    expect(fixture.updates.length).toBeLessThanOrEqual((performance.now() - start) / 100 + 2);
    expect(fixture.updates[0]).toMatch(/^line 1\n/);
    for (const [index, update] of fixture.updates.entries()) {
      if (index > 0) expect(update.length).toBeGreaterThan(fixture.updates[index - 1]?.length ?? 0);
    }
  });

  test('contain the latest output', async () => {
    const fixture = toolFixture();
    const command = 'seq 100000; echo last; until [ -e seen ]; do sleep 0.02; done';
    const running = fixture.call(bash, { command });
    await expect.poll(() => fixture.updates.at(-1)).toMatch(/100000\nlast\n$/);
    addFiles(fixture.directory, { seen: '' });
    await running;
    expect(fixture.updates.every((update) => update.length <= 8 * 1024)).toBe(true);
  });

  test('are not sent without output', async () => {
    const fixture = toolFixture();
    await fixture.call(bash, { command: 'echo once; sleep 0.5' });
    expect(fixture.updates).toEqual(['once\n']);
  });
});

describe('a command that takes too long', () => {
  test('is ended with all its processes, and its output is kept', async () => {
    const mark = token();
    const output = await run(`echo started; sleep ${mark} & sleep ${mark}`, { timeout: 1 });
    expect(outputText(output)).toBe(
      'started\n[not done after 1 second, so all its processes were ended; give a longer timeout if it needs more]',
    );
    expect(output).toMatchObject({
      isError: true,
      details: { endedBy: 'timeout', exitCode: null, signal: 'SIGTERM' },
    });
    expect(survivorsOf(mark)).toEqual([]);
  });
});

describe('a cancelled command', () => {
  test('is ended, and its output is kept', async () => {
    const mark = token();
    const fixture = toolFixture();
    const controller = new AbortController();
    const running = fixture.call(bash, { command: `echo started; sleep ${mark}` }, controller.signal);
    while (fixture.updates.length === 0) await sleep(5);
    controller.abort();
    const output = await running;
    expect(outputText(output)).toMatch(
      /^started\n\[cancelled after \d\.\d s; all its processes were ended\]$/,
    );
    expect(output).toMatchObject({ isError: true, details: { endedBy: 'cancel' } });
    expect(survivorsOf(mark)).toEqual([]);
  });

  test('gets a moment to clean up', async () => {
    const fixture = toolFixture();
    const controller = new AbortController();
    const command = 'trap "echo cleaned > done.txt; exit" TERM; echo ready; while :; do sleep 0.02; done';
    const running = fixture.call(bash, { command }, controller.signal);
    while (fixture.updates.length === 0) await sleep(5);
    controller.abort();
    await running;
    expect(fixture.text('done.txt')).toBe('cleaned\n');
  });

  test('is not started if the cancel came first', async () => {
    const fixture = toolFixture();
    const output = await fixture.call(bash, { command: 'touch started' }, AbortSignal.abort());
    expect(output).toMatchObject({ isError: true });
    expect(existsSync(fixture.path('started'))).toBe(false);
    expect(readdirSync(fixture.context.scratch)).toEqual([]);
  });
});

describe('a process that a command leaves in the background', () => {
  test.each([
    ['in the shell', (mark: string) => `sleep ${mark} & echo started`],
    ['without output', (mark: string) => `sleep ${mark} > /dev/null 2>&1 & echo started`],
    ['with nohup', (mark: string) => `nohup sleep ${mark} > /dev/null 2>&1 & echo started`],
    ['with setsid', (mark: string) => `setsid sleep ${mark} > /dev/null 2>&1 & echo started`],
    ['by a double fork', (mark: string) => `(setsid sleep ${mark} > /dev/null 2>&1 &); echo started`],
    ['with an empty environment', (mark: string) => `(env -i setsid sleep ${mark} &); echo started`],
  ])('%s does not delay the call, is reported and ended', async (_, commandFor) => {
    const mark = token();
    // A call that waited for it would not return: it sleeps for years.
    const output = await run(commandFor(mark));
    expect(output.isError).toBe(false);
    expect(outputText(output)).toBe(`started\n[left in the background and ended: sleep ${mark}]`);
    expect(survivorsOf(mark)).toEqual([]);
  });

  test.skipIf(!hasPerlThreads()).each([
    ['in the shell', (program: string) => `${program} & echo started`],
    ['by a double fork', (program: string) => `(setsid ${program} > /dev/null 2>&1 &); echo started`],
  ])('%s is ended although its main thread has ended and it looks like a zombie', async (_, commandFor) => {
    const mark = token();
    const exitThisThread = `syscall(${process.arch === 'x64' ? 60 : 93}, 0)`;
    const output = await run(
      `${commandFor(`perl -Mthreads -e 'threads->create(sub { sleep 600 }); ${exitThisThread}' ${mark}`)}; sleep 0.5`,
    );
    expect(outputText(output)).toContain('started\n[left in the background and ended: perl -Mthreads');
    expect(survivorsOf(mark)).toEqual([]);
  });

  test('may finish its last output', async () => {
    const fixture = toolFixture();
    const output = await fixture.call(bash, { command: 'echo text > >(sleep 0.05; tee log.txt)' });
    expect(outputText(output)).toBe('text');
    expect(fixture.text('log.txt')).toBe('text\n');
  });

  test('of another call is not affected', async () => {
    const [one, other] = [token(), token()];
    const controller = new AbortController();
    const running = toolFixture().call(
      bash,
      { command: `sleep ${other} & sleep ${other}` },
      controller.signal,
    );
    await run(`sleep ${one} & true`);
    expect(survivorsOf(one)).toEqual([]);
    expect(survivorsOf(other).length).toBeGreaterThan(0);
    controller.abort();
    await running;
    expect(survivorsOf(other)).toEqual([]);
  });
});

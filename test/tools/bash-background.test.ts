import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bashKill } from '../../src/tools/bash-kill.ts';
import { bashOutput } from '../../src/tools/bash-output.ts';
import { bash } from '../../src/tools/bash.ts';
import {
  BackgroundCommands,
  type BackgroundLimits,
  endedCommandsIn,
  openSandboxes,
  type ToolContext,
  type ToolOutput,
} from '../../src/tools/index.ts';
import { bubblewrapWorks, ENV } from './bubblewrap.ts';
import { outputText, type ToolFixture, toolFixture } from './fixture.ts';
import { holdersOf, survivorsOf, token } from './survivors.ts';

/** A start that returns after the end of a short command, however busy the machine is. */
const UNTIL_END = { outputMs: 60_000, endMs: 60_000 };

interface BackgroundFixture extends ToolFixture {
  readonly commands: BackgroundCommands;
  /** The events, as `start ID` and `end ID STATUS`. */
  readonly events: string[];
  start(command: string, more?: object): Promise<string>;
  read(id: string, more?: object): Promise<string>;
}

function backgroundFixture(
  limits: Partial<BackgroundLimits> = {},
  changes: Partial<ToolContext> = {},
  grace?: ConstructorParameters<typeof BackgroundCommands>[1],
): BackgroundFixture {
  const events: string[] = [];
  const commands = new BackgroundCommands(
    {
      onStart: ({ id }) => events.push(`start ${id}`),
      onEnd: ({ id }, { status }) => events.push(`end ${id} ${status}`),
    },
    grace,
  );
  onTestFinished(() => commands.close('because the test ended'));
  const background = { commands, limits: { running: 8, seconds: 600, ...limits } };
  const fixture = toolFixture({}, { background, ...changes });
  return {
    ...fixture,
    commands,
    events,
    start: async (command, more = {}) =>
      idOf(await fixture.call(bash, { command, background: true, ...more })),
    read: async (id, more = {}) => outputText(await fixture.call(bashOutput, { id, ...more })),
  };
}

function idOf({ details, content }: ToolOutput): string {
  const id = details?.background;
  if (typeof id !== 'string') throw new Error(JSON.stringify(content));
  return id;
}

describe('a background command', () => {
  test('returns at once with its id and its first output, and runs on', async () => {
    const fixture = backgroundFixture({}, {}, { outputMs: 60_000, endMs: 0 });
    const mark = token();
    const output = await fixture.call(bash, { command: `echo up; sleep ${mark}`, background: true });
    const id = idOf(output);
    expect(outputText(output)).toMatch(
      new RegExp(`^up\\n\\[running in the background as ${id}: .*bash_output.*bash_kill`),
    );
    expect(output.isError).toBe(false);
    expect(survivorsOf(mark)).not.toEqual([]);
    expect(fixture.events).toEqual([`start ${id}`]);
  });

  test('that ends quickly returns its output and how it ended', async () => {
    const fixture = backgroundFixture({}, {}, UNTIL_END);
    const output = await fixture.call(bash, { command: 'echo down; exit 3', background: true });
    const id = idOf(output);
    expect(outputText(output)).toMatch(/^down\n\[exit code 3 after /);
    expect(output.isError).toBe(true);
    expect(endedCommandsIn('bash', output.details)).toEqual([id]);
    expect(endedCommandsIn('mcp__other', output.details)).toEqual([]);
    expect(fixture.events).toEqual([`start ${id}`, `end ${id} failed`]);
  });

  test('is read from where the last call stopped, and its end is reported', async () => {
    const fixture = backgroundFixture();
    await fixture.call(bash, { command: 'mkfifo go' });
    const id = await fixture.start('echo one; cat go; echo two; cat go > /dev/null; echo end');
    await fixture.call(bash, { command: 'echo x > go' });
    expect(await fixture.read(id, { wait: 60, filter: 'two' })).toMatch(/^two\n\[.*running for/);
    expect(await fixture.read(id)).toMatch(/^\(no new output\)/);
    await fixture.call(bash, { command: 'echo x > go' });
    await expect.poll(() => fixture.commands.get(id).end?.status).toBe('done');
    const last = await fixture.call(bashOutput, { id });
    expect(outputText(last)).toMatch(/^end\n\[b\w+: done in /);
    expect(endedCommandsIn('bash_output', last.details)).toEqual([id]);
    expect(await fixture.read(id, { lines: 2 })).toMatch(/^two\nend\n/);
  });

  test('wakes a call that waits, by output and by its end', async () => {
    const fixture = backgroundFixture();
    await fixture.call(bash, { command: 'mkfifo go' });
    const id = await fixture.start('cat go; cat go');
    const waiting = fixture.read(id, { wait: 60 });
    await fixture.call(bash, { command: 'echo hello > go' });
    expect(await waiting).toMatch(/^hello\n/);
    const ended = fixture.read(id, { wait: 60 });
    await fixture.call(bash, { command: ': > go' });
    expect(await ended).toMatch(/^\(no new output\)\n\[b\w+: done in /);
  });

  test('a call that waits ends when its run is cancelled, and the command goes on', async () => {
    const fixture = backgroundFixture();
    const mark = token();
    const id = await fixture.start(`sleep ${mark}`);
    const cancel = new AbortController();
    const waiting = fixture.call(bashOutput, { id, wait: 60 }, cancel.signal);
    cancel.abort();
    expect(outputText(await waiting)).toBe('Cancelled before it was done.');
    expect(survivorsOf(mark)).not.toEqual([]);
  });

  test('is ended if its call is cancelled before the model has its id', async () => {
    const fixture = backgroundFixture();
    const mark = token();
    const cancel = new AbortController();
    const starting = fixture.call(bash, { command: `sleep ${mark}`, background: true }, cancel.signal);
    await expect.poll(() => fixture.events.length).toBe(1);
    cancel.abort();
    expect(outputText(await starting)).toBe('Cancelled before it was done.');
    expect(survivorsOf(mark)).toEqual([]);
    expect(fixture.commands.running()).toEqual([]);
  });

  test('long output is read page by page without loss', async () => {
    const fixture = backgroundFixture();
    const id = await fixture.start('sleep 1; seq 1 30000');
    await expect.poll(() => fixture.commands.get(id).end?.status).toBe('done');
    const seen: string[] = [];
    for (let text = ' more: ', pages = 0; text.includes(' more: '); pages += 1) {
      text = await fixture.read(id);
      seen.push(...text.split('\n').filter((line) => /^\d+$/.test(line)));
      expect(text.length).toBeLessThan(32_000);
      expect(pages).toBeLessThan(20);
    }
    expect(seen).toEqual(Array.from({ length: 30_000 }, (_, index) => String(index + 1)));
    const file = fixture.commands.get(id).output?.file ?? '';
    expect(readFileSync(file, 'utf8').endsWith('29999\n30000\n')).toBe(true);
    expect(await fixture.read(id, { lines: 3 })).toMatch(/^29998\n29999\n30000\n/);
    fixture.commands.get(id).position = 0;
    expect(await fixture.read(id, { filter: '^1234.$' })).toMatch(/^12340\n[\d\n]+12349\n\[b/);
  });

  test('a filter does not match half a line, and an invalid one is refused', async () => {
    const fixture = backgroundFixture();
    await fixture.call(bash, { command: 'mkfifo go' });
    const id = await fixture.start('cat go > /dev/null; printf "read"; cat go; cat go');
    await fixture.call(bash, { command: 'echo x > go' });
    await expect.poll(() => fixture.commands.get(id).written).toBe(4);
    expect(await fixture.read(id, { filter: 'read' })).toMatch(/^\(no new output\)/);
    await fixture.call(bash, { command: 'echo y > go' });
    expect(await fixture.read(id, { filter: '^ready$', wait: 60 })).toMatch(/^ready\n/);
    expect(await fixture.read(id, { filter: '(' })).toContain('not a valid regular expression');
  });

  test('output beyond the file is limited to its end, and the gap is named', async () => {
    const fixture = backgroundFixture();
    const id = await fixture.start('yes 0123456789 | head -c 70000000; echo; echo last', {});
    await expect.poll(() => fixture.commands.get(id).end?.status, { timeout: 60_000 }).toBe('done');
    expect(await fixture.read(id, { lines: 1 })).toMatch(/^last\n/);
    fixture.commands.get(id).position = 69_000_000;
    expect(await fixture.read(id)).toMatch(/^\[… .* omitted here …\]\n[^]*last\n\[b/);
  });

  test('NUL characters are replaced', async () => {
    const fixture = backgroundFixture({}, {}, UNTIL_END);
    const output = await fixture.call(bash, { command: `printf 'a\\0b'`, background: true });
    expect(outputText(output)).toMatch(/^a\ufffdb\n/);
  });

  test('is listed with the others, and an unknown id names them', async () => {
    const fixture = backgroundFixture();
    expect(outputText(await fixture.call(bashOutput, {}))).toBe('There are no background commands.');
    const one = await fixture.start('sleep 600; : one');
    const two = await fixture.start('exit 4');
    await fixture.commands.get(two).over;
    const list = outputText(await fixture.call(bashOutput, {}));
    expect(list).toMatch(new RegExp(`^${one}  running for .*sleep 600; : one\\n${two}  exit code 4 after`));
    const unknown = await fixture.call(bashOutput, { id: 'b0' });
    expect(outputText(unknown)).toBe(
      `There is no background command b0. Known are: ${one} (sleep 600; : one), ${two} (exit 4).`,
    );
    expect(unknown.isError).toBe(true);
  });

  test('is not available without a session', async () => {
    const fixture = toolFixture();
    for (const [tool, input] of [
      [bash, { command: 'true', background: true }],
      [bashOutput, {}],
      [bashKill, { id: 'b1' }],
    ] as const)
      expect(outputText(await fixture.call(tool, input))).toContain('not available here');
  });
});

describe('the end of background commands', () => {
  test.each([
    ['a group', (mark: string) => `sleep ${mark} & sleep ${mark}`],
    ['setsid', (mark: string) => `setsid sleep ${mark} & sleep ${mark}`],
    ['a double fork', (mark: string) => `(setsid sleep ${mark} > /dev/null 2>&1 &); sleep ${mark}`],
    ['an ignored SIGTERM', (mark: string) => `trap '' TERM; sleep ${mark}; sleep ${mark}`],
  ])('bash_kill ends the whole tree of %s', async (_, command) => {
    const fixture = backgroundFixture();
    const mark = token();
    const id = await fixture.start(command(mark));
    expect(survivorsOf(mark)).not.toEqual([]);
    const killed = await fixture.call(bashKill, { id });
    expect(outputText(killed)).toMatch(new RegExp(`^${id} .*: ended by bash_kill after `));
    expect(survivorsOf(mark)).toEqual([]);
    expect(fixture.events).toEqual([`start ${id}`, `end ${id} ended`]);
    expect(endedCommandsIn('bash_kill', killed.details)).toEqual([id]);
    expect(outputText(await fixture.call(bashKill, { id }))).toContain('it had already ended: ended by');
    await expect.poll(() => holdersOf(fixture.context.scratch)).toEqual([]);
  });

  test('close ends all of them, and none can be started afterwards', async () => {
    const fixture = backgroundFixture();
    const mark = token();
    await Promise.all([fixture.start(`sleep ${mark}`), fixture.start(`setsid sleep ${mark}`)]);
    await fixture.commands.close('because the session was closed');
    expect(survivorsOf(mark)).toEqual([]);
    expect(fixture.events.filter((event) => event.startsWith('end'))).toHaveLength(2);
    expect(outputText(await fixture.call(bash, { command: 'true', background: true }))).toContain('closed');
  });

  test('one that is ended before it has started is not started', async () => {
    let prepared = (): void => {};
    const wrap = new Promise<undefined>((resolve) => {
      prepared = () => resolve(undefined);
    });
    const isolation = { state: async () => ({ state: 'off', why: '' }) as const, wrap: () => wrap };
    const fixture = backgroundFixture({}, { isolation });
    const starting = fixture.call(bash, { command: 'touch started', background: true });
    await expect.poll(() => fixture.commands.running()).toHaveLength(1);
    const closing = fixture.commands.close('because the session was closed');
    prepared();
    await closing;
    expect(outputText(await starting)).toBe(
      'The command was ended because the session was closed, before it had started.',
    );
    expect(existsSync(fixture.path('started'))).toBe(false);
    expect(fixture.events).toEqual([]);
  });

  test('its time ends one, also if the model asks for more', async () => {
    const fixture = backgroundFixture({ seconds: 1 });
    const mark = token();
    const id = await fixture.start(`sleep ${mark}`, { timeout: 3_600 });
    expect(await fixture.read(id, { wait: 60 })).toContain('ended after 1 second, its limit');
    expect(survivorsOf(mark)).toEqual([]);
  });
});

describe('the limits of background commands', () => {
  test('too many are refused with the running ones, also if they start at the same time', async () => {
    const fixture = backgroundFixture({ running: 2 });
    const outputs = await Promise.all(
      [1, 2, 3, 4].map((number) =>
        fixture.call(bash, { command: `sleep 600; : ${number}`, background: true }),
      ),
    );
    const refused = outputs.filter(({ isError }) => isError).map(outputText);
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatch(
      /^The limit of 2 background commands at the same time is reached .*End one with/,
    );
    const [running] = fixture.commands.running();
    await fixture.call(bashKill, { id: running?.id });
    await fixture.start('sleep 600');
  });

  test('of ended commands only the last are kept', async () => {
    const fixture = backgroundFixture();
    for (let count = 0; count < 20; count += 1) await fixture.commands.get(await fixture.start('true')).over;
    expect(fixture.commands.all().length).toBe(16);
  });

  test('a command that cannot be started fails as in the foreground', async () => {
    const fixture = backgroundFixture();
    const command = `: ${'x'.repeat(3_000_000)}`;
    const [first, second] = [
      await fixture.call(bash, { command }),
      await fixture.call(bash, { command, background: true }),
    ];
    expect(outputText(second)).toBe(outputText(first));
    expect(fixture.commands.all()).toEqual([]);
    expect(fixture.events).toEqual([]);
  });
});

describe('in the background as in the foreground', () => {
  test('the policy sees the same command', () => {
    const access = (input: object): unknown => {
      const prepared = bash.prepare(input, '/work');
      return 'invalid' in prepared ? prepared : prepared.access;
    };
    expect(access({ command: 'rm -rf x', background: true })).toEqual(access({ command: 'rm -rf x' }));
  });

  test('a command that nobody approved runs in the read-only shell, or is denied at its start', async () => {
    const closed: string[] = [];
    const prepareReadOnly: ToolContext['prepareReadOnly'] = async () => ({
      program: '/bin/sh',
      args: (command) => ['-c', `echo only reading; ${command}`],
      env: { PATH: process.env.PATH ?? '' },
      close: async () => void closed.push('closed'),
    });
    const fixture = backgroundFixture({}, { prepareReadOnly }, UNTIL_END);
    const output = await fixture.call(bash, { command: 'env | grep ^HOME', background: true });
    expect(outputText(output)).toMatch(/^only reading\n\[exit code 1/);
    expect(closed).toEqual(['closed']);
    const waiting = fixture.start('sleep 600');
    await expect.poll(() => fixture.events).toHaveLength(3);
    expect(closed).toEqual(['closed']);
    for (const { id } of fixture.commands.running()) await fixture.call(bashKill, { id });
    await waiting;
    expect(closed).toEqual(['closed', 'closed']);
  });

  test('the limiter and the ledger apply until the end', async () => {
    const steps: string[] = [];
    const fixture = backgroundFixture(
      {},
      {
        limiter: {
          state: async () => ({ group: 'none', each: 'ulimit', unenforced: [] }),
          prepare: async () => ({
            inner: ([program, args]) => [
              '/bin/sh',
              ['-c', 'ulimit -n 77; exec "$@"', 'sh', program, ...args],
            ],
            outer: (line) => line,
            finish: async () => {
              steps.push('finished');
              return ['a limit was reached'];
            },
          }),
        },
        record: ({ command }) => {
          steps.push(`recorded ${command}`);
          return { started: () => void steps.push('started'), close: () => void steps.push('removed') };
        },
      },
    );
    const id = await fixture.start('ulimit -n; sleep 600');
    expect(steps).toEqual(['recorded ulimit -n; sleep 600', 'started']);
    expect(await fixture.read(id, { lines: 1 })).toMatch(/^77\n/);
    expect(outputText(await fixture.call(bashKill, { id }))).toContain('[a limit was reached]');
    expect(steps).toEqual(['recorded ulimit -n; sleep 600', 'started', 'removed', 'finished']);
  });
});

describe.runIf(bubblewrapWorks)('a background command in the sandbox', () => {
  test('is confined, ended with its namespace, and cleaned up after', async () => {
    const base = toolFixture();
    const scope = { writable: [base.directory], mode: 'workspace-write' } as const;
    const sandboxes = await openSandboxes({ env: ENV, home: ENV.HOME }, scope);
    const fixture = backgroundFixture(
      {},
      { sandbox: sandboxes.around(scope), cwd: base.directory, env: ENV },
    );
    const mark = token();
    const id = await fixture.start(
      `echo x > /etc/planted; mkdir -p .vscode; echo '{}' > .vscode/tasks.json; echo ready; sleep ${mark}`,
    );
    await expect.poll(() => fixture.read(id, { lines: 5 })).toContain('ready');
    expect(existsSync('/etc/planted')).toBe(false);
    const killed = outputText(await fixture.call(bashKill, { id }));
    expect(survivorsOf(mark)).toEqual([]);
    expect(existsSync(base.path('.vscode/tasks.json'))).toBe(false);
    expect(killed).toContain('.vscode');
  });

  test('without approval may not run longer than in the foreground', async () => {
    const base = toolFixture();
    const scope = { writable: [base.directory], mode: 'workspace-write' } as const;
    const sandboxes = await openSandboxes({ env: ENV, home: ENV.HOME }, scope);
    const sandbox = sandboxes.around(scope);
    const context = { sandbox, cwd: base.directory, env: ENV };
    for (const [approved, limit] of [
      [false, '3,600'],
      [true, '28,800'],
    ] as const) {
      const fixture = backgroundFixture({ seconds: 28_800 }, { ...context, approved });
      const output = await fixture.call(bash, { command: 'sleep 600', background: true });
      expect(outputText(output)).toContain(`it is ended after ${limit} seconds`);
    }
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TaskEvent } from '../../../src/client/index.ts';
import type { CommandContext } from '../../../src/cli/command.ts';
import { LiveView } from '../../../src/cli/commands/task/live-view.ts';
import { ACTIONS, OPTIONS, type TaskValues } from '../../../src/cli/commands/task/options.ts';
import { progressBar } from '../../../src/cli/commands/task/progress-bar.ts';
import { listText, statusText } from '../../../src/cli/commands/task/show.ts';
import { type TaskOutput, WaitingView } from '../../../src/cli/commands/task/view.ts';
import { displayWidth } from '../../../src/terminal/width.ts';
import { screens } from '../screens.ts';

const VALUES = {
  ...Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, undefined])),
  'allow-path': [],
  file: [],
  quiet: false,
  poll: false,
  insecure: false,
} as unknown as TaskValues;

function viewFixture(isTTY: boolean, make: (context: CommandContext) => TaskOutput) {
  const { context, stdout, stderr } = screens(isTTY);
  const view = make(context);
  onTestFinished(() => view.close());
  const emit = (event: string, data: TaskEvent['data'] = {}): void =>
    view.take({ type: 'event', event: { event, data, seq: 1, id: '1.0' } });
  return { view, emit, stdout, stderr };
}

const waiting =
  (values: Partial<TaskValues> = {}) =>
  (context: CommandContext) =>
    new WaitingView(context, { ...VALUES, ...values });
const liveView = (context: CommandContext) => new LiveView(context, VALUES);
const RUNNING = { taskId: 't', status: 'in_progress', state: 'running' } as const;

describe('a progress bar', () => {
  it.each([
    [0, '▕░░░░░░░░░░░░░░░░░░░░▏ 0 %'],
    [40, '▕████████░░░░░░░░░░░░▏ 40 %'],
    [100, '▕████████████████████▏ 100 %'],
    [250, '▕████████████████████▏ 100 %'],
  ])('of %i', (progress, bar) => {
    expect(progressBar(progress)).toBe(bar);
  });

  it('is empty if the progress is unknown', () => {
    expect(progressBar(undefined)).toBe('');
  });
});

describe('waiting for a task', () => {
  it('shows the bar at the bottom of a terminal, within its width, and clears it', async () => {
    const { view, stdout, stderr } = viewFixture(true, waiting());
    view.take({ type: 'status', status: { ...RUNNING, progress: 40 } });
    await stderr.shows('▕████████░░░░░░░░░░░░▏ 40 %');
    const drawn = stderr.text.split('\r\u001b[K');
    expect(drawn.every((line) => displayWidth(line) < 40)).toBe(true);
    expect(stderr.text).not.toContain('\n');
    view.end({ taskId: 't', status: 'completed', result: { text: 'Done.' } });
    expect(stderr.text.endsWith('\r\u001b[K')).toBe(true);
    expect(stdout.text).toBe('Done.\n');
  });

  it('prints every change as a line without a terminal', () => {
    const { view, stderr } = viewFixture(false, waiting());
    view.take({ type: 'status', status: { taskId: 't', status: 'pending', progress: 0 } });
    view.take({ type: 'status', status: RUNNING });
    view.take({ type: 'status', status: RUNNING });
    view.take({ type: 'lost', why: 'gone' });
    view.take({ type: 'back' });
    expect(stderr.text).toBe(
      [
        'polypod task: ▕░░░░░░░░░░░░░░░░░░░░▏ 0 % pending\n',
        'polypod task: running\n',
        'polypod task: gone; retrying\n',
        'polypod task: reconnected\n',
      ].join(''),
    );
  });

  it('shows every approval once, with commands for the same agent, also with --quiet', () => {
    const way = { quiet: true, url: 'https://agent.example', 'key-file': '/my keys/k' };
    const { view, stderr } = viewFixture(false, waiting(way));
    const approval = { approvalId: 'a1', tool: 'bash', title: 'rm -r build\u001b[2J' };
    view.ask([approval]);
    view.ask([approval]);
    const rest = "--url https://agent.example --key-file '/my keys/k'";
    expect(stderr.text).toBe(
      [
        'polypod task: waiting for an approval: bash: rm -r build␛[2J\n',
        `  polypod task approve a1 ${rest}\n`,
        `  polypod task deny a1 --comment WHY ${rest}\n`,
      ].join(''),
    );
  });
});

describe('an approval', () => {
  const asks = (title: string, args: object) => {
    const { view, stderr } = viewFixture(false, waiting());
    view.ask([{ approvalId: 'a1', tool: 'bash', title, arguments: JSON.stringify(args) }]);
    return stderr.text.split('\n  polypod task')[0];
  };

  it('shows the complete call, of which its title may be a part', () => {
    expect(asks('touch z1 rm -rf important', { command: 'touch z1\nrm -rf important' })).toBe(
      'polypod task: waiting for an approval: bash: touch z1 rm -rf important\n    command:\n      touch z1\n      rm -rf important',
    );
    expect(asks('make', { command: 'make' })).toBe('polypod task: waiting for an approval: bash: make');
  });
});

describe('watching a task', () => {
  it('prints the answer on stdout and the steps of the agent on stderr', () => {
    const { view, emit, stdout, stderr } = viewFixture(false, liveView);
    emit('queued', { queue_id: 'q' });
    emit('run_start', { run_id: 'r' });
    emit('tool_start', { id: 'c', name: 'ls', title: 'ls .' });
    emit('tool_result', { id: 'c', output: 'two files', is_error: false, status: 'done' });
    emit('text_delta', { text: 'There are ' });
    view.take({ type: 'lost', why: 'gone' });
    view.take({ type: 'back' });
    emit('text_delta', { text: 'two.' });
    emit('run_end', { run_id: 'r', result: 'finished' });
    view.end({ taskId: 't', status: 'completed', result: { text: 'There are two.' } });
    expect(stdout.text).toBe('There are two.\n');
    expect(stderr.text).toBe(
      [
        'polypod task: waiting for its turn\n',
        '● ls .\n',
        '  ✓ two files\n',
        // The line of the answer is unfinished: it continues on stdout, so stderr starts a new line.
        '\npolypod task: gone; retrying\n',
        'polypod task: reconnected\n',
      ].join(''),
    );
  });

  it('prints the complete result if a part was missed', () => {
    const { view, emit, stdout, stderr } = viewFixture(false, liveView);
    emit('snapshot', { reason: 'gap', detail: 'running' });
    emit('text_delta', { text: 'two.' });
    view.end({ taskId: 't', status: 'completed', result: { text: 'There are two.' } });
    expect(stdout.text).toBe('two.\nThere are two.\n');
    expect(stderr.text).toContain('some events are no longer available');
  });

  it('shows the changes of a file task', () => {
    const { view, stdout, stderr } = viewFixture(false, liveView);
    const changes = [{ path: 'a.txt', tool: 'edit', diff: '-old\n+new\n' }];
    view.end({ taskId: 't', status: 'completed', result: { text: 'Changed.', changes } });
    expect(stdout.text).toBe('');
    expect(stderr.text).toBe('✓ a.txt (edit)\n-old\n+new\n');
  });
});

describe('the result of a task', () => {
  it.each([
    [{ state: 'cancelled', errorMessage: 'the task was cancelled' }, 'the task was cancelled'],
    [
      { state: 'cancelled', errorMessage: 'the agent is going down' },
      'the task was cancelled: the agent is going down',
    ],
    [{ state: 'failed', errorMessage: 'no such model' }, 'the task failed: no such model'],
    [{}, 'the task failed'],
  ])('is printed once: %j', (outcome, sentence) => {
    const { view, stderr } = viewFixture(false, waiting());
    view.end({ taskId: 't', status: 'failed', ...outcome });
    expect(stderr.text).toBe(`polypod task: ${sentence}\n`);
  });

  it.each([
    ['text', { text: 'a\u001b[2Jb' }, 'a␛[2Jb\n', 'a\u001b[2Jb\n'],
    [
      "a command's output",
      { stdout: '\u001b[31mred\u001b[0m \u001b]0;title\u0007\n', stderr: '', exitCode: 0 },
      'red ␛]0;title␇\n',
      '\u001b[31mred\u001b[0m \u001b]0;title\u0007\n',
    ],
  ])('cannot control the terminal, and is unchanged in a pipe: %s', (_, result, shown, piped) => {
    for (const [isTTY, expected] of [
      [true, shown],
      [false, piped],
    ] as const) {
      const { view, stdout } = viewFixture(isTTY, waiting());
      view.end({ taskId: 't', status: 'completed', result });
      expect(stdout.text).toBe(expected);
    }
  });

  it('is listed by prompt, with ids that can be typed', () => {
    const pod = '01a1df76-67e3-75a0-9637-d39e54a4687c';
    const task = (own: string, userPrompt: string) => ({
      taskId: `task_${pod}_${own}`,
      sessionId: 's1',
      status: 'completed',
      state: 'succeeded',
      updatedAt: new Date().toISOString(),
      userPrompt,
    });
    const { context } = screens(false);
    const [heading, ...rows] = listText(
      [
        task('0796abe397456d48a90d2bfec', 'Fix\nthe test'),
        task('0796abe3ffffffffffffffffff', 'Then\u001b[2J'),
      ],
      { ...context, stdout: Object.assign(context.stdout, { columns: 100 }) },
    )
      .trimEnd()
      .split('\n');
    expect(heading).toMatch(/^task +session +state +age +about$/);
    expect(rows[0]).toMatch(/^90d2bfec +s1 +succeeded +0 s +Fix the test$/);
    expect(rows[1]).toMatch(/^ffffffff +s1 +succeeded +0 s +Then␛\[2J$/);
    expect(statusText({ ...task('0796abe3', 'Fix it'), status: 'completed' })).toContain('about    Fix it');
  });
});

describe('the page', () => {
  const page = readFileSync('docs/task.md', 'utf8');

  it('names every action and every option', () => {
    const wanted = [
      ...Object.keys(ACTIONS).map((name) => `polypod task ${name}`),
      ...Object.keys(OPTIONS).map((name) => `--${name}`),
    ];
    expect(wanted.filter((text) => !new RegExp(`${text}\\b`).test(page))).toEqual([]);
  });
});

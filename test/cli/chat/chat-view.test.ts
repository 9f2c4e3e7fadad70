import { describe, expect, it } from 'vitest';
import { viewFromSnapshot } from '../../../src/cli/chat/view/joined-view.ts';
import type { Print } from '../../../src/cli/chat/view/print.ts';
import { decisionFor, questionAbout } from '../../../src/cli/chat/screen/question.ts';
import { inputIn } from '../../../src/cli/chat/input-text.ts';
import { compactCount, statusTexts } from '../../../src/cli/chat/screen/status.ts';
import { backgroundRows } from '../../../src/cli/chat/slash/slash-rows.ts';
import { step } from '../../../src/cli/chat/view/step.ts';
import { SNAPSHOT } from './idle-snapshot.ts';
import type { View } from '../../../src/cli/chat/view/view.ts';
import { DEFAULT_SETTINGS, type PodEvent, type PodFact } from '../../../src/pod/index.ts';
import { NO_TOTALS } from '../../../src/worker/index.ts';

const ME = { by: 'ada', door: 'cli' };
const APPROVAL = {
  approvalId: 'a1',
  requestedAt: '2026-01-01T00:00:00Z',
  tool: 'bash',
  arguments: '{"command":"make"}',
  title: 'make',
  reason: 'it asks',
  rule: { tool: 'bash', command: 'make', action: 'auto' as const },
};

/** The view after facts at intervals of one second, and all output. */
function after(
  facts: readonly PodFact[],
  from = SNAPSHOT,
): { readonly view: View; readonly prints: readonly Print[] } {
  const start = viewFromSnapshot(from, ME, 0);
  const prints: Print[] = [...start.prints];
  let { view } = start;
  for (const [index, fact] of facts.entries()) {
    const event: PodEvent = { ...fact, seq: from.seq + index + 1 };
    const stepped = step(view, event, (index + 1) * 1000);
    view = stepped.view;
    prints.push(...stepped.prints);
  }
  return { view, prints };
}

const user = (text: string) =>
  ({ type: 'message', role: 'user', content: [{ type: 'text', text }] }) as const;
const notices = (prints: readonly Print[]) =>
  prints.flatMap((print) => (print.type === 'notice' ? [print.text] : []));

describe('the view of a pod', () => {
  it('streams an answer and collapses thinking', () => {
    const { view, prints } = after([
      { type: 'state', state: 'running' },
      { type: 'run-start', runId: 'r1' },
      { type: 'input', origin: 'prompt', item: user('hello'), ...ME },
      { type: 'turn-start', turn: 1 },
      { type: 'block-start', index: 0, blockType: 'thinking' },
      { type: 'block-delta', index: 0, delta: { type: 'thinking', text: 'hm' } },
      { type: 'block-stop', index: 0, blockType: 'thinking' },
      { type: 'block-start', index: 1, blockType: 'text' },
      { type: 'block-delta', index: 1, delta: { type: 'text', text: 'Hi ' } },
      { type: 'block-delta', index: 1, delta: { type: 'text', text: 'there' } },
      { type: 'block-stop', index: 1, blockType: 'text' },
    ]);
    expect(prints).toEqual([
      { type: 'message', text: 'hello', from: undefined, images: 0 },
      { type: 'card', card: { type: 'thought', text: 'hm', durationMs: 2000 } },
      { type: 'text', text: 'Hi ' },
      { type: 'text', text: 'there' },
      { type: 'text-end' },
    ]);
    expect(view).toMatchObject({
      state: 'running',
      answer: 'Hi there',
      activity: 'answering',
      hasBegun: true,
    });
    expect(view.thoughts.size).toBe(0);
  });

  it('shows a running call, and a card with its diff when it has ended', () => {
    const call = { callId: 'c1', name: 'edit', arguments: '{}', title: 'edit a.txt' };
    const started = after([
      { type: 'tool-start', call },
      { type: 'tool-update', callId: 'c1', text: 'half' },
    ]);
    expect(started.view.calls).toEqual([{ id: 'c1', title: 'edit a.txt', startedAt: 1000, text: 'half' }]);
    const output = { summary: 'changed', content: [], isError: false, details: { diff: '-a\n+b\n' } };
    const ended = after([
      { type: 'tool-start', call },
      { type: 'tool-end', callId: 'c1', name: 'edit', status: 'done', output },
    ]);
    expect(ended.view.calls).toEqual([]);
    expect(ended.prints).toEqual([
      {
        type: 'card',
        card: {
          type: 'tool',
          title: 'edit a.txt',
          status: 'done',
          durationMs: 1000,
          summary: 'changed',
          diff: '-a\n+b\n',
          output: '',
        },
      },
    ]);
  });

  it.each([
    ['done', 'done'],
    ['failed', 'failed'],
    ['denied', 'denied'],
    ['skipped', 'cancelled'],
    ['interrupted', 'cancelled'],
  ] as const)('a call that is %s shows as %s', (status, shown) => {
    const output = { summary: 's', content: [], isError: status !== 'done' };
    const { prints } = after([{ type: 'tool-end', callId: 'c', name: 'bash', status, output }]);
    expect(prints).toMatchObject([{ type: 'card', card: { status: shown } }]);
  });

  it('shows the author of a prompt, unless it is the local user', () => {
    const input = { type: 'input', origin: 'prompt', item: user('x') } as const;
    expect(after([{ ...input, ...ME }]).prints).toMatchObject([{ from: undefined }]);
    expect(after([{ ...input, by: 'bob', door: 'hld' }]).prints).toMatchObject([{ from: 'bob through hld' }]);
    expect(after([{ ...input, by: 'ada', door: 'pod' }]).prints).toMatchObject([{ from: 'ada through pod' }]);
  });

  it('prints nothing for generated prompts', () => {
    const input = { type: 'input', item: user('x') } as const;
    expect(
      after([
        { ...input, origin: 'continuation' },
        { ...input, origin: 'shell' },
      ]).prints,
    ).toEqual([]);
  });

  it('asks, and shows who decided what and for how long', () => {
    const approvalRequest = { type: 'approval-request', approval: APPROVAL } as const;
    expect(after([approvalRequest])).toMatchObject({
      view: { approvals: [APPROVAL], activity: 'waiting for your answer' },
      // The screen decides which approval is shown, and when.
      prints: [],
    });
    const noticesAfter = (
      more: Omit<Extract<PodFact, { type: 'approval-response' }>, 'type' | 'approvalId' | 'at'>,
      decided: readonly string[] = ['a1'],
    ) => {
      const waitingView = { ...after([approvalRequest]).view, decided: new Set(decided) };
      const event = { type: 'approval-response', approvalId: 'a1', at: '', seq: 9, ...more } as const;
      const { view, prints } = step(waitingView, event, 0);
      expect(view.approvals).toEqual([]);
      return notices(prints);
    };
    expect(noticesAfter({ status: 'approved', ...ME })).toEqual(['approved: bash make']);
    // Another user with the same name is at another terminal.
    expect(noticesAfter({ status: 'approved', ...ME }, [])).toEqual([
      `${ME.by} approved through terminal: bash make`,
    ]);
    expect(noticesAfter({ status: 'denied', by: 'bob', door: 'control' })).toEqual([
      'bob denied through terminal: bash make',
    ]);
    expect(noticesAfter({ status: 'approved', by: 'bob', door: 'hld' })).toEqual([
      'bob approved through hld: bash make',
    ]);
    expect(noticesAfter({ status: 'denied', by: 'bob', door: 'hld', comment: 'no' })).toEqual([
      'bob denied through hld: bash make (no)',
    ]);
    expect(noticesAfter({ status: 'approved', remember: 'session', ...ME })).toEqual([
      'approved, also for the rest of this session: bash make',
    ]);
    expect(noticesAfter({ status: 'approved', updatedArguments: '{}', ...ME })).toEqual([
      'approved with changed arguments: bash make',
    ]);
    expect(noticesAfter({ status: 'expired' })).toEqual(['the approval expired: bash make']);
    expect(noticesAfter({ status: 'cancelled' })).toEqual(['the approval was withdrawn: bash make']);
  });

  it('keeps queued messages until they are delivered or removed', () => {
    const queued = {
      queueId: 'q1',
      lane: 'steer',
      content: [{ type: 'text', text: 'stop' }],
      ...ME,
    } as const;
    const other = { ...queued, queueId: 'q2', lane: 'follow-up' } as const;
    const both = [
      { type: 'queued', ...queued },
      { type: 'queued', ...other },
    ] as const;
    expect(after(both).view.queue).toEqual([queued, other]);
    const read = { type: 'input', origin: 'steer', item: user('stop'), queueId: 'q1', ...ME } as const;
    expect(after([...both, read]).view.queue).toEqual([other]);
    const back = after([...both, { type: 'unqueued', queueIds: ['q1', 'q2'], reason: 'they are too old' }]);
    expect(back.view.queue).toEqual([]);
    expect(notices(back.prints)).toEqual(['they are too old']);
  });

  it.each([
    [{ status: 'finished' }, []],
    [{ status: 'cancelled' }, ['cancelled']],
    [{ status: 'paused', callIds: [] }, ['paused: /continue resumes the run']],
    [{ status: 'interrupted' }, ['interrupted: the process ended during the run']],
    [{ status: 'failed', failure: { kind: 'auth', message: 'bad key' } }, ['bad key']],
    [{ status: 'limited', limit: 'budget', message: '$1 is spent' }, ['stopped: $1 is spent']],
  ] as const)('a run that ends as %o prints its outcome', (outcome, expected) => {
    const { view, prints } = after([{ type: 'run-end', runId: 'r', outcome, totals: NO_TOTALS }]);
    expect(notices(prints)).toEqual(expected);
    expect(view.lastRun).toEqual({ runId: 'r', outcome });
  });

  it('adds up the usage of runs if no total is sent', () => {
    const outcome = { status: 'finished' } as const;
    const run = {
      type: 'run-end',
      runId: 'r',
      outcome,
      totals: { ...NO_TOTALS, turns: 2, cost: 0.5 },
    } as const;
    expect(after([run, run]).view.totals).toMatchObject({ turns: 4, cost: 1 });
    const { cost: _, ...unknown } = run.totals;
    expect(after([run, { ...run, totals: unknown }]).view.totals).not.toHaveProperty('cost');
    expect(after([{ ...run, conversation: { ...NO_TOTALS, turns: 9 } }]).view.totals.turns).toBe(9);
  });

  it('shows no running call after its run has ended', () => {
    const call = { callId: 'c1', name: 'bash', arguments: '{}', title: 'sleep 9' };
    const { view, prints } = after([
      { type: 'tool-start', call },
      { type: 'run-end', runId: 'r', outcome: { status: 'cancelled' }, totals: NO_TOTALS },
    ]);
    expect(view.calls).toEqual([]);
    expect(prints).toMatchObject([
      { type: 'text-end' },
      { card: { title: 'sleep 9', status: 'cancelled' } },
      {},
    ]);
  });

  it('shows changed settings and their author', () => {
    const settings = { ...DEFAULT_SETTINGS, mode: 'read-only', name: 'x' } as const;
    const { view, prints } = after([{ type: 'settings', settings, by: 'bob', door: 'rpc' }]);
    expect(notices(prints)).toEqual([
      'the mode is now read-only, by bob through rpc',
      'the name is now x, by bob through rpc',
    ]);
    expect(view.settings).toBe(settings);
  });

  it('resets the context window when the model changes', () => {
    const settings = { ...DEFAULT_SETTINGS, model: { provider: 'a', modelId: 'b' } };
    expect(after([{ type: 'settings', settings }]).view).toMatchObject({
      model: { provider: 'a', modelId: 'b' },
      contextWindow: undefined,
    });
  });

  it('background commands are counted in the status line and listed, and their end is reported', () => {
    const command = { id: 'b1', command: 'npm start', callId: 'c', startedAt: '2026-01-01T00:00:00Z' };
    const running = after([{ type: 'background-start', ...command }]);
    expect(statusTexts(running.view, undefined, 80).left).toBe('sim/offline · 1 in background · idle');
    expect(statusTexts(running.view, undefined, 24).left).toBe('offline · 1 bg · idle');
    expect(backgroundRows(running.view.background, new Date('2026-01-01T00:05:00Z'))).toEqual([
      'b1   5 min  npm start',
      '/commands end ID ends one of them, /commands end all all',
    ]);
    const end = { status: 'failed', message: 'exit code 1 after 2.0 s' } as const;
    const ended = after([{ type: 'background-end', id: 'b1', command: 'npm start', ...end }], {
      ...SNAPSHOT,
      background: [command],
    });
    expect(ended.view.background).toEqual([]);
    expect(ended.prints).toEqual([
      {
        type: 'notice',
        text: 'background command b1 (npm start): exit code 1 after 2.0 s',
        tone: 'warning',
      },
    ]);
    expect(backgroundRows([], new Date())).toEqual(['no background command is running']);
  });

  it('updates context and cost with every answer', () => {
    const end = { type: 'llm-end', turn: 1, outcome: 'completed', items: [] } as const;
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.25 };
    const { view } = after([
      { ...end, usage: { inputTokens: 400, outputTokens: 100 }, cost },
      { ...end, usage: { inputTokens: 500, outputTokens: 10 }, cost },
    ]);
    expect(statusTexts(view, undefined, 80).right).toBe('510 tokens (51%) · $0.50');
  });

  it('shows the last prompts of an earlier conversation and counts the rest', () => {
    const items = Array.from({ length: 6 }, (_, index) => [
      user(`p${index}`),
      { type: 'tool-call', callId: `c${index}`, name: 'bash', arguments: '{"command":"ls"}' } as const,
      { type: 'tool-result', callId: `c${index}`, content: [], isError: index === 5 } as const,
    ]).flat();
    const { prints } = after([], { ...SNAPSHOT, items });
    expect(notices(prints)).toEqual(['2 earlier prompts not shown']);
    expect(prints.filter(({ type }) => type === 'message')).toHaveLength(4);
    expect(prints.filter(({ type }) => type === 'card').at(-1)).toMatchObject({
      card: { title: 'bash ls', status: 'failed' },
    });
    const refused = items.flatMap((item) => (item.type === 'tool-call' ? [item.callId] : []));
    expect(after([], { ...SNAPSHOT, items, denied: refused }).prints).toContainEqual(
      expect.objectContaining({ card: expect.objectContaining({ title: 'bash ls', status: 'denied' }) }),
    );
  });

  it('joins without what no person wrote, and shows a running call once', () => {
    const { view, prints } = after([], {
      ...SNAPSHOT,
      items: [
        user('one'),
        { ...user('[background command b1 (make): done]'), automatic: true },
        { type: 'tool-call', callId: 'c1', name: 'bash', arguments: '{"command":"make"}' },
      ],
      tools: [{ call: { callId: 'c1', name: 'bash', title: 'make', arguments: '{}' }, text: '' }],
    });
    expect(prints).toEqual([{ type: 'message', text: 'one', from: undefined, images: 0 }]);
    expect(view.calls).toMatchObject([{ title: 'make' }]);
  });

  it('joins in the middle of an answer, a call and an approval', () => {
    const { view, prints } = after([{ type: 'block-delta', index: 0, delta: { type: 'text', text: 'lo' } }], {
      ...SNAPSHOT,
      state: 'waiting',
      blocks: [{ blockType: 'text', index: 0, open: true, text: 'hel' }],
      tools: [{ call: { callId: 'c', name: 'bash', arguments: '', title: 'make' }, text: 'out' }],
      approvals: [APPROVAL],
    });
    expect(prints).toMatchObject([{ text: 'hel' }, { text: 'lo' }]);
    expect(view).toMatchObject({ answer: 'hello', calls: [{ id: 'c', text: 'out' }], approvals: [APPROVAL] });
  });
});

describe('input and questions', () => {
  it.each([
    ['/model a/b', { type: 'slash', name: 'model', rest: 'a/b' }],
    ['/quit', { type: 'slash', name: 'quit', rest: '' }],
    ['/etc/hosts is odd', { type: 'prompt', text: '/etc/hosts is odd' }],
    ['!git status', { type: 'shell', command: 'git status', isPrivate: false }],
    ['!! env', { type: 'shell', command: 'env', isPrivate: true }],
    ['!', { type: 'prompt', text: '!' }],
    ['hello!', { type: 'prompt', text: 'hello!' }],
  ])('%s', (text, input) => {
    expect(inputIn(text)).toEqual(input);
  });

  it('a question shows the effect of a call: a command, a diff, or the arguments', () => {
    const detail = (tool: string, input: object) =>
      questionAbout({ ...APPROVAL, tool, arguments: JSON.stringify(input) }).detail;
    expect(questionAbout(APPROVAL).rule).toBe('bash make …, in this session (a) or project (p)');
    expect(detail('bash', { command: 'make' })).toEqual({ type: 'command', text: 'make' });
    expect(detail('edit', { path: 'a', old: 'x\ny', new: 'z' })).toEqual({
      type: 'diff',
      text: '-x\n-y\n+z',
    });
    expect(detail('edit', { path: 'a', edits: [{ old: 'x', new: '' }] })).toEqual({
      type: 'diff',
      text: '-x',
    });
    expect(detail('write', { path: 'a', content: 'x\n' })).toEqual({ type: 'diff', text: '+x' });
    expect(detail('other', { a: 1 })).toEqual({ type: 'arguments', text: '{\n  "a": 1\n}' });
    expect(questionAbout({ ...APPROVAL, arguments: 'no json' }).arguments).toEqual({ text: 'no json' });
  });

  it('an answer becomes a decision', () => {
    expect(decisionFor('a', { type: 'once' })).toEqual({
      type: 'decide',
      approvalId: 'a',
      decision: 'approve',
    });
    expect(decisionFor('a', { type: 'always', where: 'session' })).toMatchObject({
      decision: 'approve',
      remember: 'session',
    });
    expect(decisionFor('a', { type: 'always', where: 'project' })).toMatchObject({
      decision: 'approve',
      remember: 'always',
    });
    expect(decisionFor('a', { type: 'edited', arguments: { x: 1 } })).toMatchObject({
      updatedArguments: '{"x":1}',
    });
    expect(decisionFor('a', { type: 'deny', comment: ' no ' })).toMatchObject({
      decision: 'deny',
      comment: 'no',
    });
    expect(decisionFor('a', { type: 'deny', comment: '' })).not.toHaveProperty('comment');
    expect(decisionFor('a', { type: 'later' })).toBeUndefined();
  });

  it('the status line shows session and state, and omits the least important parts first', () => {
    const settings = { ...DEFAULT_SETTINGS, name: 'tidy', thinking: 'high' } as const;
    const end = { type: 'llm-end', turn: 1, outcome: 'completed', items: [] } as const;
    const { view } = after([
      { type: 'settings', settings },
      { ...end, usage: { inputTokens: 500 } },
    ]);
    const at = (columns: number) => Object.values(statusTexts(view, 'workspace-write', columns));
    expect(at(80)).toEqual([
      'tidy · sim/offline · thinking high · workspace-write · idle',
      '500 tokens (50%)',
    ]);
    expect(at(70)).toEqual(['tidy · sim/offline · thinking high · workspace-write · idle', '50%']);
    expect(at(61)).toEqual(['tidy · offline · thinking high · workspace-write · idle', '50%']);
    expect(at(40)).toEqual(['offline · workspace-write · idle', '50%']);
    expect([999, 1234, 34_567, 1_234_567].map(compactCount)).toEqual(['999', '1.2k', '35k', '1.2M']);
  });
});

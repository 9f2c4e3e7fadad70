import { describe, expect, it } from 'vitest';
import { anthropic } from '../../src/llm/anthropic/index.ts';
import type { ApprovalResult, Approve, RunEvent } from '../../src/worker/index.ts';
import { calls, gate, lines, userContent, textAnswer, workerFixture, tool } from './fixture.ts';
import { never } from './worker.contract.ts';

const ALLOW: ApprovalResult = { decision: 'allow', resolve: async (path) => path };

/** Approvals decided by the test, by the title of the call; `raised` is the order in which they were requested. */
function approver(slow: (title: string) => Promise<void> = async () => {}) {
  const raised: string[] = [];
  const withdrawn: string[] = [];
  const answers = new Map<string, (approval: ApprovalResult) => void>();
  const waiting = new Set<() => void>();
  const approve: Approve = async ({ call: { title } }, signal) => {
    await slow(title);
    return {
      ask: () => {
        raised.push(title);
        signal.addEventListener('abort', () => withdrawn.push(title));
        const answer = new Promise<ApprovalResult>((resolve) => answers.set(title, resolve));
        for (const wake of waiting) wake();
        return answer;
      },
    };
  };
  return {
    approve,
    raised,
    withdrawn,
    answer: (title: string, approval: ApprovalResult = ALLOW) => answers.get(title)?.(approval),
    async waitForRequests(count: number): Promise<void> {
      while (raised.length < count)
        await new Promise<void>((resolve) => {
          waiting.add(resolve);
        });
    },
  };
}

const started = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-start' ? [event.call.title] : []));
const ended = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-end' ? [event.callId] : []));
const startOf = (title: string) => (event: RunEvent) =>
  event.type === 'tool-start' && event.call.title === title;

const alone = tool('alone', async (text) => `alone ${text}`, false);
const aside = tool('aside', async (text) => `aside ${text}`);

describe('the calls of one turn', () => {
  it('request approvals in call order, however long the decision about each takes', async () => {
    let judgeFirst = (): void => {};
    const first = new Promise<void>((resolve) => {
      judgeFirst = resolve;
    });
    const { approve, raised, answer, waitForRequests } = approver(async (title) => {
      if (title === 'aside aside:1') await first;
      else if (title === 'aside aside:3') judgeFirst();
    });
    const { worker } = await workerFixture(
      anthropic,
      [calls('aside:1', 'aside:2', 'aside:3'), textAnswer('Done.')],
      {
        tools: [aside],
        approve,
      },
    );
    const run = worker.run(userContent('Go'), never());
    await waitForRequests(3);
    expect(raised).toEqual(['aside aside:1', 'aside aside:2', 'aside aside:3']);
    for (const title of raised) answer(title);
    expect(await run).toEqual({ status: 'finished' });
  });

  it('start when they are approved, without waiting for the others', async () => {
    const { approve, answer, waitForRequests } = approver();
    const { worker, events, waitFor } = await workerFixture(
      anthropic,
      [calls('aside:1', 'aside:2', 'aside:3'), textAnswer('Done.')],
      { tools: [aside], approve },
    );
    const run = worker.run(userContent('Go'), never());
    await waitForRequests(3);
    answer('aside aside:3');
    await waitFor((event) => event.type === 'tool-end');
    answer('aside aside:1', { decision: 'deny', reason: 'Not now.' });
    await waitFor((event) => event.type === 'tool-end' && event.status === 'denied');
    expect(started(events)).toEqual(['aside aside:3', 'aside aside:1']);
    answer('aside aside:2');
    expect(await run).toEqual({ status: 'finished' });
    // End events are in order of completion, results in call order.
    const ids = worker.items.flatMap((item) => (item.type === 'tool-call' ? [item.callId] : []));
    expect(ended(events)).toEqual([ids[2], ids[0], ids[1]]);
    expect(lines(worker.items).slice(4, 7)).toEqual([
      'error Not now.',
      'result aside aside:2',
      'result aside aside:3',
    ]);
  });

  it('that are not parallel run in call order, each after the previous one has ended', async () => {
    const { approve, answer, waitForRequests } = approver();
    const held = gate('held');
    const { worker, events, waitFor } = await workerFixture(
      anthropic,
      [calls('alone:1', 'held:2', 'alone:3', 'aside:4'), textAnswer('Done.')],
      { tools: [alone, aside, held.tool], approve },
    );
    const run = worker.run(userContent('Go'), never());
    await waitForRequests(4);
    answer('alone alone:3');
    answer('aside aside:4');
    answer('alone alone:1');
    await waitFor((event) => event.type === 'tool-end');
    expect(started(events)).toEqual(['alone alone:1']);
    answer('held held:2');
    await held.started;
    // The third call has side effects that the fourth may depend on.
    expect(started(events)).toEqual(['alone alone:1', 'held held:2']);
    held.release();
    expect(await run).toEqual({ status: 'finished' });
    expect(started(events)).toEqual(['alone alone:1', 'held held:2', 'alone alone:3', 'aside aside:4']);
  });

  it('are not started during a pause, and none runs twice after it', async () => {
    const { approve, raised, answer, waitForRequests } = approver();
    const { worker, events, waitFor } = await workerFixture(
      anthropic,
      [calls('alone:1', 'alone:2'), textAnswer('Done.')],
      {
        tools: [alone],
        approve,
      },
    );
    const run = worker.run(userContent('Go'), never());
    await waitForRequests(2);
    answer('alone alone:1');
    await waitFor((event) => event.type === 'tool-end');
    worker.pause();
    answer('alone alone:2');
    expect(await run).toMatchObject({ status: 'paused' });
    expect(started(events)).toEqual(['alone alone:1']);
    expect(await worker.resume(never())).toEqual({ status: 'finished' });
    expect(started(events)).toEqual(['alone alone:1', 'alone alone:2']);
    expect(raised).toHaveLength(2);
  });

  it('keep their results when a paused run is abandoned', async () => {
    const { approve, answer, waitForRequests } = approver();
    const { worker, waitFor } = await workerFixture(
      anthropic,
      [calls('alone:1', 'alone:2'), textAnswer('Done.')],
      {
        tools: [alone],
        approve,
      },
    );
    const run = worker.run(userContent('Go'), never());
    await waitForRequests(2);
    answer('alone alone:1');
    await waitFor((event) => event.type === 'tool-end');
    answer('alone alone:2', { decision: 'pause' });
    await run;
    worker.abandon();
    expect(lines(worker.items).slice(3)).toEqual([
      'result alone alone:1',
      'error Tool execution was aborted',
    ]);
  });

  it('are stopped with the run, and pending approvals are withdrawn', async () => {
    const { approve, withdrawn, answer, waitForRequests } = approver();
    const held = gate('held');
    const { worker } = await workerFixture(anthropic, [calls('held:1', 'alone:2')], {
      tools: [alone, held.tool],
      approve,
    });
    const cancel = new AbortController();
    const run = worker.run(userContent('Go'), cancel.signal);
    await waitForRequests(2);
    answer('held held:1');
    await held.started;
    cancel.abort();
    expect(await run).toEqual({ status: 'cancelled' });
    expect(withdrawn).toContain('alone alone:2');
    expect(lines(worker.items).slice(3)).toEqual(['result cancelled', 'error Tool execution was aborted']);
  });

  it('are skipped for an immediate steering message, also while approvals are pending', async () => {
    const { approve, withdrawn, answer, waitForRequests } = approver();
    const { worker, waitFor } = await workerFixture(
      anthropic,
      [calls('alone:1', 'alone:2'), textAnswer('Done.')],
      {
        tools: [alone],
        approve,
      },
    );
    worker.inbox.modes = { ...worker.inbox.modes, interrupt: 'immediate' };
    const run = worker.run(userContent('Go'), never());
    await waitForRequests(2);
    worker.inbox.steer(userContent('Stop that'));
    answer('alone alone:1');
    await waitFor(startOf('alone alone:1'));
    expect(await run).toEqual({ status: 'finished' });
    expect(withdrawn).toContain('alone alone:2');
    expect(lines(worker.items).slice(3, 5)).toEqual([
      'result alone alone:1',
      'error Skipped due to queued user message.',
    ]);
  });

  it('are stopped when the process ends, and pending approvals stay open', async () => {
    const { approve, withdrawn, answer, waitForRequests } = approver();
    const held = gate('held');
    const { worker, events } = await workerFixture(anthropic, [calls('held:1', 'alone:2')], {
      tools: [alone, held.tool],
      approve,
      // The events are checked below; the run itself never ends.
      items: [],
    });
    void worker.run(userContent('Go'), never());
    await waitForRequests(2);
    answer('held held:1');
    await held.started;
    await worker.halt();
    expect(withdrawn).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: 'tool-end', status: 'interrupted' });
  });
});

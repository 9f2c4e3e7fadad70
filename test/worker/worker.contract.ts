import { expect, it, vi } from 'vitest';
import type { Provider } from '../../src/llm/index.ts';
import { type SimAnswer, generatedText, type Script, type SimRequest } from '../../src/sim/index.ts';
import { calls, echo, gate, lines, userContent, textAnswer, workerFixture } from './fixture.ts';

/** Tests that a run must pass with every provider of the registry. */
export function workerContract(provider: Provider): void {
  it('runs turns with parallel tools until the model calls no tool', async () => {
    const script = [calls('echo:1', 'echo:2', 'echo:3'), calls('echo:4'), textAnswer('Done.')];
    const { worker, eventTypes, sim } = await workerFixture(provider, script);
    expect(await worker.run(userContent('Go'), never())).toEqual({ status: 'finished' });
    expect(lines(worker.items)).toEqual([
      'user: Go',
      ...['call echo', 'call echo', 'call echo'],
      ...['result echo of echo:1', 'result echo of echo:2', 'result echo of echo:3'],
      ...['call echo', 'result echo of echo:4', 'assistant: Done.'],
    ]);
    expect(eventTypes()).toEqual([
      ...['run-start', 'input', 'turn-start', 'llm-end'],
      ...['tool-start', 'tool-start', 'tool-start', 'tool-end', 'tool-end', 'tool-end', 'turn-end'],
      ...[
        'turn-start',
        'llm-end',
        'tool-start',
        'tool-end',
        'turn-end',
        'turn-start',
        'llm-end',
        'turn-end',
        'run-end',
      ],
    ]);
    expect(sim.requests).toHaveLength(3);
    expect(worker.totals).toMatchObject({ turns: 3, toolCalls: 4 });
    expect(worker.totals.inputTokens).toBeGreaterThan(0);
  });

  it('can be cancelled before it starts', async () => {
    const { worker, sim } = await workerFixture(provider, [textAnswer('never')]);
    expect(await worker.run(userContent('Go'), AbortSignal.abort())).toEqual({ status: 'cancelled' });
    expect(sim.requests).toHaveLength(0);
    expect(lines(worker.items)).toEqual(['user: Go']);
  });

  it('can be cancelled while the model streams: the text is kept, and the next request says so', async () => {
    const slow = { parts: [{ text: generatedText(3000) }, ...calls('echo').parts], pace: { delayMs: 3 } };
    const requests: SimRequest[] = [];
    const script = recordRequests(requests, [slow, textAnswer('Fresh.')]);
    const { worker, waitFor, events } = await workerFixture(provider, script);
    const controller = new AbortController();
    const run = worker.run(userContent('Go'), controller.signal);
    await waitFor(
      (event) => event.type === 'block-delta' && 'text' in event.delta && event.delta.text.trim() !== '',
    );
    controller.abort();
    expect(await run).toEqual({ status: 'cancelled' });
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: { status: 'cancelled' } });
    expect(await worker.run(userContent('Again'), never())).toEqual({ status: 'finished' });
    const [, partial = '', ...rest] = lines(worker.items);
    expect(partial).toMatch(/^assistant: \w/);
    expect(rest).toEqual(['user: Again', 'assistant: Fresh.']);
    // Roles must alternate: some servers reject other conversations.
    expect(requests[1]?.messages).toMatchObject([
      { role: 'user', text: 'Go' },
      { role: 'assistant', text: partial.slice('assistant: '.length), toolCalls: [] },
      { role: 'user', text: '[Request interrupted by user]\n\nAgain' },
    ]);
  });

  it('can be cancelled before the first word, and the next request says so', async () => {
    const silent = { parts: [{ text: 'never' }], fault: { kind: 'stall', after: 0 } } as const;
    const requests: SimRequest[] = [];
    const { worker } = await workerFixture(
      provider,
      recordRequests(requests, [silent, textAnswer('Fresh.')]),
    );
    const controller = new AbortController();
    const run = worker.run(userContent('Go'), controller.signal);
    await vi.waitFor(() => expect(requests).toHaveLength(1), { timeout: 20_000 });
    controller.abort();
    expect(await run).toEqual({ status: 'cancelled' });
    expect(await worker.run(userContent('Again'), never())).toEqual({ status: 'finished' });
    const messages = requests[1]?.messages ?? [];
    expect(messages.map(({ role }) => role)).not.toContain('assistant');
    expect(messages.map(({ text }) => text).join('')).toMatch(
      /^Go\s*\[Request interrupted by user\]\n\nAgain$/,
    );
  });

  it('can be cancelled while a tool runs, and every call has a result', async () => {
    const { tool, started } = gate('gate');
    const { worker } = await workerFixture(provider, [calls('gate', 'echo'), textAnswer('Fresh.')], {
      tools: [tool, echo],
    });
    const controller = new AbortController();
    const run = worker.run(userContent('Go'), controller.signal);
    await started;
    controller.abort();
    expect(await run).toEqual({ status: 'cancelled' });
    expect(lines(worker.items).slice(0, 4)).toEqual([
      'user: Go',
      'call gate',
      'call echo',
      'result cancelled',
    ]);
    expect(worker.items).toHaveLength(5);
    expect(await worker.run(userContent('Again'), never())).toEqual({ status: 'finished' });
  });

  it('can be cancelled while it waits for a retry', async () => {
    const busy = { parts: [{ text: 'x' }], fault: { kind: '529' } } as const;
    const { worker, waitFor, eventTypes } = await workerFixture(provider, [busy], {
      wait: (_, signal) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve('waited'))),
    });
    const controller = new AbortController();
    const run = worker.run(userContent('Go'), controller.signal);
    await waitFor((event) => event.type === 'retry-start');
    controller.abort();
    expect(await run).toEqual({ status: 'cancelled' });
    expect(eventTypes().slice(-5)).toEqual(['retry-start', 'retry-end', 'llm-end', 'turn-end', 'run-end']);
  });

  it('retries when the provider is overloaded', async () => {
    const { worker, events } = await workerFixture(provider, [
      { ...textAnswer('At last.'), fault: { kind: '529', times: 2 } },
    ]);
    expect(await worker.run(userContent('Go'), never())).toEqual({ status: 'finished' });
    const retries = events.filter((event) => event.type === 'retry-start' || event.type === 'retry-end');
    expect(retries).toMatchObject([
      { type: 'retry-start', attempt: 1, delayMs: 250, continuation: false, failure: { kind: 'overloaded' } },
      { type: 'retry-start', attempt: 2, delayMs: 500 },
      { type: 'retry-end', attempt: 2, success: true },
    ]);
  });

  it('fails without a retry if a retry cannot succeed', async () => {
    const { worker } = await workerFixture(provider, [{ ...textAnswer('x'), fault: { kind: '401' } }]);
    expect(await worker.run(userContent('Go'), never())).toMatchObject({
      status: 'failed',
      failure: { kind: 'auth' },
    });
  });

  it('continues after a stream is cut off: finished text is kept, tool calls are discarded', async () => {
    const parts = [{ text: 'First part. ' }, ...calls('echo:a').parts, { text: generatedText(400) }];
    const cut = { parts, fault: { kind: 'cut', after: 8 } } as const;
    const { worker, events } = await workerFixture(provider, [cut, textAnswer('Second part.')]);
    expect(await worker.run(userContent('Go'), never())).toEqual({ status: 'finished' });
    expect(events.find((event) => event.type === 'retry-start')).toMatchObject({ continuation: true });
    const conversation = lines(worker.items);
    expect(conversation.at(-1)).toBe('assistant: Second part.');
    expect(conversation).not.toContain('call echo');
    expect(conversation.join('\n')).not.toContain('a simulated model says');
  });

  it('pauses before the calls are run, and resumes without asking again', async () => {
    const { worker, events, waitFor } = await workerFixture(
      provider,
      [calls('echo:1', 'echo:2'), textAnswer('Done.')],
      {
        approve: async ({ call }) => {
          requests.push(call.title);
          if (requests.length === 2) return { decision: 'pause' };
          return { decision: 'allow', resolve: async (path) => path };
        },
      },
    );
    const requests: string[] = [];
    const outcome = await worker.run(userContent('Go'), never());
    expect(outcome).toMatchObject({ status: 'paused' });
    expect(events.some((event) => event.type === 'tool-start')).toBe(false);
    expect(await worker.resume(never())).toEqual({ status: 'finished' });
    await waitFor((event) => event.type === 'tool-end');
    expect(requests).toEqual(['echo echo:1', 'echo echo:2', 'echo echo:2']);
    expect(lines(worker.items).slice(3)).toEqual([
      'result echo of echo:1',
      'result echo of echo:2',
      'assistant: Done.',
    ]);
  });

  it('compacts and retries when the prompt is too long', async () => {
    const script = [
      textAnswer(generatedText(2000)),
      { ...textAnswer('x'), fault: { kind: 'context-too-long' } } as const,
      textAnswer('A summary of what was said.'),
      textAnswer('Now it fits.'),
    ];
    const { worker, events } = await workerFixture(provider, script, {
      policies: () => ({ compaction: { auto: true, keepTokens: 10 } }),
    });
    await worker.run(userContent('First'), never());
    expect(await worker.run(userContent('Second'), never())).toEqual({ status: 'finished' });
    expect(events.filter((event) => event.type.startsWith('compaction'))).toMatchObject([
      { type: 'compaction-start', reason: 'overflow' },
      {
        type: 'compaction-end',
        reason: 'overflow',
        result: { status: 'compacted', summary: 'A summary of what was said.' },
      },
    ]);
    expect(lines(worker.items)).toEqual([
      expect.stringContaining('A summary of what was said.'),
      'user: Second',
      'assistant: Now it fits.',
    ]);
  });
}

export function never(): AbortSignal {
  return new AbortController().signal;
}

/** A provider that returns the answers in order and records the requests. */
function recordRequests(requests: SimRequest[], answers: readonly SimAnswer[]): Script {
  return (request) => {
    requests.push(request);
    return answers[requests.length - 1] ?? textAnswer('');
  };
}

import { describe, expect, it } from 'vitest';
import type { Item } from '../../src/llm/index.ts';
import { openaiChat } from '../../src/llm/openai-chat/index.ts';
import { anthropic } from '../../src/llm/anthropic/index.ts';
import { generatedText, type SimRequest } from '../../src/sim/index.ts';
import { providers } from '../../src/registry.ts';
import type { DeliveryMode, Hook } from '../../src/worker/index.ts';
import {
  allowAll,
  calls,
  echo,
  fail,
  gate,
  lines,
  userContent,
  textAnswer,
  workerFixture,
  tool,
} from './fixture.ts';
import { never } from './worker.contract.ts';

const EVERY = providers.map((provider) => [provider.name, provider] as const);

describe('a call always gets a result that the model can read', () => {
  it.each([
    ['a tool that fails', calls('fail'), 'error it did not work', 'failed'],
    ['a tool that nobody has', calls('nobody'), 'error Tool nobody not found', 'failed'],
    [
      'arguments that are not JSON',
      { parts: [{ toolCall: { name: 'echo', argumentsText: '{"text":' } }] },
      'error The arguments of this call are not valid JSON:\n{"text":',
      'failed',
    ],
    [
      'arguments of the wrong kind',
      { parts: [{ toolCall: { name: 'echo', arguments: { text: 5, more: 1 } } }] },
      expect.stringContaining('error Validation failed for tool "echo":\n  - text: must be text, not 5'),
      'failed',
    ],
    ['a tool that throws', calls('throws'), 'error out of order', 'failed'],
  ] as const)('%s', async (_title, answer, result, status) => {
    const throws = tool('throws', async () => {
      throw new Error('out of order');
    });
    const { worker, events } = await workerFixture(openaiChat, [answer, textAnswer('I see.')], {
      tools: [echo, fail, throws],
    });
    expect(await worker.run(userContent('Go'), never())).toEqual({ status: 'finished' });
    expect(lines(worker.items)[2]).toEqual(result);
    expect(events.find((event) => event.type === 'tool-end')).toMatchObject({ status });
  });

  it('a denied call returns the reason', async () => {
    const { worker, events } = await workerFixture(openaiChat, [calls('echo'), textAnswer('Pity.')], {
      approve: async () => ({ decision: 'deny', reason: 'Not on a Sunday.' }),
    });
    await worker.run(userContent('Go'), never());
    expect(lines(worker.items)).toEqual([
      'user: Go',
      'call echo',
      'error Not on a Sunday.',
      'assistant: Pity.',
    ]);
    expect(events.find((event) => event.type === 'tool-end')).toMatchObject({ status: 'denied' });
  });

  it('a failed approval request is a denial', async () => {
    const { worker } = await workerFixture(openaiChat, [calls('echo'), textAnswer('Pity.')], {
      approve: async () => {
        throw new Error('nobody is there');
      },
    });
    await worker.run(userContent('Go'), never());
    expect(lines(worker.items)[2]).toBe('error The approval could not be requested: nobody is there');
  });

  it('a call whose arguments a person changed runs with the changed ones', async () => {
    const { worker, events } = await workerFixture(
      openaiChat,
      [calls('echo:original'), textAnswer('Good.')],
      {
        approve: async () => ({
          decision: 'allow',
          resolve: async (path) => path,
          arguments: '{"text":"changed"}',
        }),
      },
    );
    await worker.run(userContent('Go'), never());
    expect(lines(worker.items)[2]).toBe('result echo of changed');
    expect(events.find((event) => event.type === 'tool-start')).toMatchObject({
      call: { arguments: '{"text":"changed"}', title: 'echo changed' },
    });
  });
});

describe('tools', () => {
  it('run in parallel if allowed and exclusively otherwise, with results in call order', async () => {
    const active = new Set<string>();
    const seen: string[] = [];
    const watched = (name: string, parallel: boolean) =>
      tool(
        name,
        async (text) => {
          active.add(text);
          seen.push([...active].join('+'));
          await new Promise((resolve) => setImmediate(resolve));
          active.delete(text);
          return text;
        },
        parallel,
      );
    const answer = calls('free:1', 'free:2', 'alone:3', 'free:4');
    const { worker } = await workerFixture(anthropic, [answer, textAnswer('Done.')], {
      tools: [watched('free', true), watched('alone', false)],
    });
    await worker.run(userContent('Go'), never());
    expect(seen).toEqual(['free:1', 'free:1+free:2', 'alone:3', 'free:4']);
    expect(lines(worker.items).filter((line) => line.startsWith('result'))).toEqual(
      ['free:1', 'free:2', 'alone:3', 'free:4'].map((text) => `result ${text}`),
    );
  });

  it('emit their ends in order of completion, while the conversation keeps the call order', async () => {
    const slow = gate('slow');
    const { worker, events, waitFor } = await workerFixture(
      openaiChat,
      [calls('slow', 'echo'), textAnswer('Done.')],
      {
        tools: [slow.tool, echo],
      },
    );
    const run = worker.run(userContent('Go'), never());
    await waitFor((event) => event.type === 'tool-end' && event.name === 'echo');
    slow.release();
    await run;
    expect(events.flatMap((event) => (event.type === 'tool-end' ? [event.name] : []))).toEqual([
      'echo',
      'slow',
    ]);
    expect(lines(worker.items).slice(1, 5)).toEqual([
      'call slow',
      'call echo',
      'result gate of slow',
      'result echo of echo',
    ]);
  });

  it('that do not end after a cancellation are abandoned', async () => {
    const ignoresAbort = tool('deaf', () => new Promise(() => {}));
    const { worker, waitFor } = await workerFixture(openaiChat, [calls('deaf')], {
      tools: [ignoresAbort],
      policies: () => ({ toolGraceMs: 50 }),
    });
    const controller = new AbortController();
    const run = worker.run(userContent('Go'), controller.signal);
    await waitFor((event) => event.type === 'tool-start');
    controller.abort();
    expect(await run).toEqual({ status: 'cancelled' });
    expect(lines(worker.items)).toEqual(['user: Go', 'call deaf', 'error Tool execution was aborted']);
  });

  it('have a limit for the size of their output', async () => {
    const flood = tool('flood', async () => 'x'.repeat(1_000_000));
    const { worker } = await workerFixture(openaiChat, [calls('flood'), textAnswer('Enough.')], {
      tools: [flood],
    });
    await worker.run(userContent('Go'), never());
    expect(lines(worker.items)[2]?.length).toBeLessThan(410_000);
  });
});

describe('hooks', () => {
  it('observe every event and can deny or pause, but cannot change the conversation', async () => {
    const seen: string[] = [];
    const hook: Hook = {
      name: 'guard',
      observe: (event) => seen.push(event.type),
      beforeTool: async (call) => {
        Object.assign(call, { arguments: '{"text":"forged"}' });
        return call.title.includes('bad') ? { decision: 'deny', reason: 'The guard says no.' } : undefined;
      },
    };
    const { worker, events } = await workerFixture(
      openaiChat,
      [calls('echo:good', 'echo:bad'), textAnswer('Done.')],
      {
        hooks: [hook],
      },
    );
    await worker.run(userContent('Go'), never());
    expect(lines(worker.items).slice(3, 5)).toEqual(['result echo of echo:good', 'error The guard says no.']);
    expect(seen).toEqual(events.map(({ type }) => type));
  });

  it('the strictest verdict wins, and a failing hook asks instead of allowing', async () => {
    const advice: unknown[] = [];
    const hooks: readonly Hook[] = [
      { name: 'yes', beforeTool: async () => ({ decision: 'allow', reason: 'fine' }) },
      {
        name: 'broken',
        beforeTool: async () => {
          throw new Error('oops');
        },
      },
    ];
    const { worker } = await workerFixture(openaiChat, [calls('echo'), textAnswer('Done.')], {
      hooks,
      approve: async (question, signal) => {
        advice.push(question.advice);
        return allowAll(question, signal);
      },
    });
    await worker.run(userContent('Go'), never());
    expect(advice).toEqual([{ decision: 'ask', reason: 'the hook broken failed: oops' }]);
  });
});

describe('bounds', () => {
  it('a run stops at its turn limit', async () => {
    const { worker } = await workerFixture(openaiChat, () => calls(`echo:${Math.random()}`), {
      bounds: () => ({ maxTurns: 3 }),
    });
    expect(await worker.run(userContent('Go'), never())).toMatchObject({
      status: 'limited',
      limit: 'max-turns',
    });
    expect(worker.totals.turns).toBe(3);
    expect(lines(worker.items).at(-1)).toMatch(/^result/);
  });

  it('a run stops at its budget', async () => {
    const price = { input: 1_000_000, output: 0 };
    const { worker } = await workerFixture(
      openaiChat,
      () => ({ ...calls(`echo:${Math.random()}`), usage: { inputTokens: 1, outputTokens: 1 } }),
      {
        model: { price },
        bounds: () => ({ budget: 2.5 }),
      },
    );
    expect(await worker.run(userContent('Go'), never())).toMatchObject({
      status: 'limited',
      limit: 'budget',
    });
    expect(worker.totals.cost).toBe(3);
  });

  it('repeated identical calls are refused, and then stop the run', async () => {
    let ran = 0;
    const count = tool('count', async () => `always the same${(ran++, '')}`);
    const { worker } = await workerFixture(openaiChat, () => calls('count'), { tools: [count] });
    expect(await worker.run(userContent('Go'), never())).toMatchObject({ status: 'limited', limit: 'loop' });
    expect(ran).toBe(3);
    expect(lines(worker.items).filter((line) => line.includes('Not run: this exact call'))).toHaveLength(3);
  });

  it('the loop guard counts from the latest prompt, so a repeated request is run again', async () => {
    let ran = 0;
    const count = tool('count', async () => `always the same${(ran++, '')}`);
    const script = Array.from({ length: 10 }, () => [calls('count'), textAnswer('Done.')]).flat();
    const { worker } = await workerFixture(openaiChat, script, { tools: [count] });
    for (let prompt = 1; prompt <= 5; prompt++) {
      expect(await worker.run(userContent('Run the tests'), never())).toEqual({ status: 'finished' });
      expect(ran).toBe(prompt);
    }
    // Queued prompts are part of the same run, but they count as new requests.
    for (let queued = 1; queued <= 4; queued++) worker.inbox.followUp(userContent('Run the tests'));
    expect(await worker.run(userContent('Run the tests'), never())).toEqual({ status: 'finished' });
    expect(ran).toBe(10);
  });

  it('the loop guard continues counting in a worker that resumes the run', async () => {
    let ran = 0;
    const count = tool('count', async () => `always the same${(ran++, '')}`);
    const round = (at: number): readonly Item[] => [
      { type: 'tool-call', callId: `c${at}`, name: 'count', arguments: '{"text":"count"}' },
      { type: 'tool-result', callId: `c${at}`, content: userContent('always the same'), isError: false },
    ];
    const asked: Item = { type: 'message', role: 'user', content: userContent('Go') };
    const earlier = [asked, ...round(1), ...round(2), ...round(3)];
    const { worker } = await workerFixture(openaiChat, () => calls('count'), {
      tools: [count],
      items: [...earlier, asked, ...round(4), ...round(5)],
    });
    expect(await worker.resume(never())).toMatchObject({ status: 'limited', limit: 'loop' });
    expect(ran).toBe(1);
  });

  it('the loop guard does not count the continuation message after a cut-off stream as a prompt', async () => {
    let ran = 0;
    const count = tool('count', async () => `always the same${(ran++, '')}`);
    const parts = [{ text: 'First part. ' }, ...calls('count').parts];
    const cut = { parts, fault: { kind: 'cut', after: 8 } } as const;
    let asked = 0;
    const { worker } = await workerFixture(openaiChat, () => (asked++ % 3 === 0 ? cut : calls('count')), {
      tools: [count],
      bounds: () => ({ maxTurns: 20 }),
    });
    expect(await worker.run(userContent('Go'), never())).toMatchObject({ status: 'limited', limit: 'loop' });
    expect(lines(worker.items).filter((line) => line.startsWith('user: Your answer broke off'))).not.toEqual(
      [],
    );
    expect(ran).toBe(3);
  });

  it('a call whose result changes is not a loop', async () => {
    let ran = 0;
    const count = tool('count', async () => String(ran++));
    const script = [...Array.from({ length: 8 }, () => calls('count')), textAnswer('Eight.')];
    const { worker } = await workerFixture(openaiChat, script, { tools: [count] });
    expect(await worker.run(userContent('Go'), never())).toEqual({ status: 'finished' });
    expect(ran).toBe(8);
  });

  it('one run at a time', async () => {
    const held = gate('held');
    const { worker } = await workerFixture(openaiChat, [calls('held'), textAnswer('Done.')], {
      tools: [held.tool],
    });
    const run = worker.run(userContent('Go'), never());
    await held.started;
    await expect(worker.run(userContent('Me too'), never())).rejects.toThrow('a run is under way');
    await expect(worker.compact({}, never())).rejects.toThrow('a run is under way');
    held.release();
    expect(await run).toEqual({ status: 'finished' });
  });
});

describe.each(EVERY)('messages during a run: %s', (_name, provider) => {
  /** Each answer repeats the last user message. */
  const repeat = (request: SimRequest) =>
    textAnswer(`re ${request.messages.findLast(({ role }) => role === 'user')?.text}`);

  async function busy(steering: DeliveryMode, followUps: DeliveryMode) {
    const held = gate('held');
    let first = true;
    const script = (request: SimRequest) => {
      if (!first) return repeat(request);
      first = false;
      return calls('held', 'echo');
    };
    const fixture = await workerFixture(provider, script, { tools: [held.tool, echo] });
    fixture.worker.inbox.modes = { steering, followUps, interrupt: 'wait' };
    const run = fixture.worker.run(userContent('Go'), never());
    await held.started;
    for (const text of ['A', 'B']) fixture.worker.inbox.steer(userContent(text));
    for (const text of ['X', 'Y']) fixture.worker.inbox.followUp(userContent(text));
    held.release();
    await run;
    return lines(fixture.worker.items).slice(5);
  }

  it('one at a time: steering between turns, follow-ups at the end', async () => {
    expect(await busy('one-at-a-time', 'one-at-a-time')).toEqual([
      ...['user: A', 'assistant: re A', 'user: B', 'assistant: re B'],
      ...['user: X', 'assistant: re X', 'user: Y', 'assistant: re Y'],
    ]);
  });

  it('all at once', async () => {
    expect(await busy('all', 'all')).toEqual([
      ...['user: A', 'user: B', 'assistant: re A\nB'],
      ...['user: X', 'user: Y', 'assistant: re X\nY'],
    ]);
  });

  it('each in its own mode', async () => {
    expect(await busy('all', 'one-at-a-time')).toEqual([
      ...['user: A', 'user: B', 'assistant: re A\nB'],
      ...['user: X', 'assistant: re X', 'user: Y', 'assistant: re Y'],
    ]);
    expect(await busy('one-at-a-time', 'all')).toEqual([
      ...['user: A', 'assistant: re A', 'user: B', 'assistant: re B'],
      ...['user: X', 'user: Y', 'assistant: re X\nY'],
    ]);
  });

  it('immediate: running calls are cancelled, the rest is skipped, and the message is next', async () => {
    const slow = gate('slow');
    const quick = gate('quick');
    const later = tool('later', async () => 'never', false);
    const { worker } = await workerFixture(provider, [calls('quick', 'slow', 'later'), textAnswer('Yes?')], {
      tools: [slow.tool, quick.tool, later],
    });
    worker.inbox.modes = { ...worker.inbox.modes, interrupt: 'immediate' };
    const run = worker.run(userContent('Go'), never());
    await Promise.all([slow.started, quick.started]);
    worker.inbox.steer(userContent('Wait!'));
    quick.release();
    expect(await run).toEqual({ status: 'finished' });
    expect(lines(worker.items).slice(4)).toEqual([
      'result gate of quick',
      'error Skipped due to queued user message.',
      'error Skipped due to queued user message.',
      'user: Wait!',
      'assistant: Yes?',
    ]);
  });
});

describe('pause and resume', () => {
  it('a new prompt closes the open calls of a paused run', async () => {
    const { worker } = await workerFixture(openaiChat, [calls('echo'), textAnswer('Fresh.')], {
      approve: async () => ({ decision: 'pause' }),
    });
    expect(await worker.run(userContent('Go'), never())).toMatchObject({ status: 'paused' });
    expect(await worker.run(userContent('Never mind'), never())).toEqual({ status: 'finished' });
    expect(lines(worker.items)).toEqual([
      ...[
        'user: Go',
        'call echo',
        'error Tool execution was aborted',
        'user: Never mind',
        'assistant: Fresh.',
      ],
    ]);
  });

  it('pause() stops before the calls, or before the next turn', async () => {
    const held = gate('held');
    const { worker } = await workerFixture(openaiChat, [calls('held'), textAnswer('Done.')], {
      tools: [held.tool],
    });
    const run = worker.run(userContent('Go'), never());
    await held.started;
    worker.pause();
    held.release();
    expect(await run).toEqual({ status: 'paused', callIds: [] });
    expect(await worker.resume(never())).toEqual({ status: 'finished' });
    expect(lines(worker.items).at(-1)).toBe('assistant: Done.');
  });

  it('a conversation interrupted between call and result resumes with the call', async () => {
    const { worker } = await workerFixture(openaiChat, [textAnswer('Done.')], {
      items: [
        { type: 'message', role: 'user', content: userContent('Go') },
        { type: 'tool-call', callId: 'c1', name: 'echo', arguments: '{"text":"late"}' },
      ],
    });
    expect(await worker.resume(never())).toEqual({ status: 'finished' });
    expect(lines(worker.items).slice(2)).toEqual(['result echo of late', 'assistant: Done.']);
  });

  it('abandon() closes the calls without running them', async () => {
    const { worker, events } = await workerFixture(openaiChat, [calls('echo')], {
      approve: async () => ({ decision: 'pause' }),
    });
    await worker.run(userContent('Go'), never());
    worker.abandon();
    expect(lines(worker.items).at(-1)).toBe('error Tool execution was aborted');
    expect(events.at(-1)).toMatchObject({ type: 'turn-end', results: [{ isError: true }] });
  });
});

describe.each(EVERY)('a full context: %s', (_name, provider) => {
  const summary = 'They spoke at length.';
  const isSummary = (request: SimRequest) => request.system.startsWith('You summarise');

  it('is compacted before the next turn, and calls keep their results', async () => {
    const big = tool('big', async () => 'y'.repeat(40_000));
    const script = (request: SimRequest) => {
      if (isSummary(request)) return textAnswer(summary);
      const turns = request.messages.filter(({ role }) => role === 'assistant').length;
      const usage = { inputTokens: Math.ceil(JSON.stringify(request.body).length / 4), outputTokens: 10 };
      const busy = turns < 3 && !JSON.stringify(request.messages).includes(summary);
      return { ...(busy ? calls(`big:${turns}`) : textAnswer('Done.')), usage };
    };
    const { worker, events } = await workerFixture(provider, script, {
      tools: [big],
      model: { contextWindow: 24_000 },
      policies: () => ({ prune: { protectTokens: 1e9, minSaving: 1 } }),
    });
    expect(await worker.run(userContent('Go'), never())).toEqual({ status: 'finished' });
    const [end] = events.filter((event) => event.type === 'compaction-end');
    expect(end).toMatchObject({ reason: 'threshold', result: { status: 'compacted', summary } });
    const open = new Set<string>();
    for (const item of worker.items) {
      if (item.type === 'tool-call') open.add(item.callId);
      if (item.type === 'tool-result') expect(open.delete(item.callId)).toBe(true);
    }
    expect(open.size).toBe(0);
  });

  it('can be compacted on demand, with instructions', async () => {
    const seen: string[] = [];
    const script = (request: SimRequest) => {
      if (!isSummary(request)) return textAnswer(generatedText(4000));
      seen.push(request.messages[0]?.text ?? '');
      return textAnswer(summary);
    };
    const { worker } = await workerFixture(provider, script, {
      policies: () => ({ compaction: { auto: false, keepTokens: 20 } }),
    });
    await worker.run(userContent('One'), never());
    await worker.run(userContent('Two'), never());
    const result = await worker.compact({ instructions: 'Remember the colours.' }, never());
    expect(result).toMatchObject({ status: 'compacted', replaced: 3 });
    expect(seen[0]).toContain('Remember the colours.');
    expect(lines(worker.items)[0]).toContain(summary);
    expect(await worker.run(userContent('Three'), never())).toEqual({ status: 'finished' });
  });

  it('is not changed if there is nothing to summarize, or the summary fails', async () => {
    const { worker } = await workerFixture(provider, []);
    expect(await worker.compact({}, never())).toEqual({ status: 'skipped' });
    const failing = await workerFixture(
      provider,
      (request) =>
        isSummary(request) ? { ...textAnswer('x'), fault: { kind: '401' } } : textAnswer(generatedText(4000)),
      { policies: () => ({ compaction: { auto: false, keepTokens: 20 } }) },
    );
    await failing.worker.run(userContent('One'), never());
    await failing.worker.run(userContent('Two'), never());
    const before = failing.worker.items;
    expect(await failing.worker.compact({}, never())).toMatchObject({
      status: 'failed',
      failure: { kind: 'auth' },
    });
    expect(failing.worker.items).toBe(before);
  });

  it('is summarized completely on request, even if it would fit', async () => {
    const { worker } = await workerFixture(
      provider,
      [calls('big:1'), textAnswer('Hi.'), textAnswer('A greeting.')],
      {
        tools: [tool('big', async () => generatedText(400))],
      },
    );
    await worker.run(userContent('One'), never());
    expect(await worker.compact({}, never())).toMatchObject({
      status: 'compacted',
      summary: 'A greeting.',
      replaced: 4,
    });
    expect(worker.items).toHaveLength(1);
  });

  it('is not changed by a summary that is longer than what it would replace', async () => {
    const script = [textAnswer('Hi.'), textAnswer(generatedText(400))];
    const { worker } = await workerFixture(provider, script);
    await worker.run(userContent('One'), never());
    const before = worker.items;
    expect(await worker.compact({}, never())).toEqual({
      status: 'failed',
      failure: {
        kind: 'provider',
        message: expect.stringMatching(
          /^the conversation would grow from \d+ to \d+ tokens, so it is unchanged; /,
        ),
      },
    });
    expect(worker.items).toBe(before);
  });

  it('is sent without old tool output, while the stored conversation keeps it', async () => {
    const big = tool('big', async (text) => `${text}\n${'z'.repeat(40_000)}`);
    const script = [calls('big:1'), calls('big:2'), textAnswer('Done.')];
    const { worker, sim } = await workerFixture(provider, script, { tools: [big] });
    await worker.run(userContent('Go'), never());
    const sent = JSON.stringify(sim.requests.at(-1)?.body);
    expect(sent.match(/older output left out/g)).toHaveLength(2);
    expect(lines(worker.items)[2]?.length).toBeGreaterThan(40_000);
  });
});

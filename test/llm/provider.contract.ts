import { expect, it, onTestFinished } from 'vitest';
import {
  type Account,
  AnswerItems,
  type ConnectOptions,
  connect,
  type FailureKind,
  type Item,
  type LlmEvent,
  type LlmRequest,
  type Provider,
  textContent,
} from '../../src/llm/index.ts';
import {
  type SimAnswer,
  type FaultKind,
  generatedText,
  type Sim,
  startSim,
  type Stop,
} from '../../src/sim/index.ts';
import { TextBlockCollector, Timeline, ToolCallCollector } from '../../src/timeline/index.ts';
import { callsIn, expectBalanced, joined } from './balance.ts';

/** The base URL path of each provider API. */
const BASE_PATHS: Readonly<Record<string, string>> = {
  'openai-chat': '/v1',
  'openai-responses': '/v1',
  gemini: '/v1beta',
};

const KEY = 'sk-test-0123456789abcdefghij';

const READ = {
  name: 'read',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};

const ASK: LlmRequest = {
  model: 'sim',
  system: 'Be brief.',
  items: [{ type: 'message', role: 'user', content: textContent('Hello?') }],
  tools: [READ],
  maxTokens: 1000,
};

/** The settings of an account on a platform that serves the provider's API at another address. */
export interface PlatformAccount extends Partial<Account> {
  readonly path: string;
}

/** Tests that every provider of the registry must pass, against a simulator that sends the provider's real bytes over HTTP. */
export function providerContract(provider: Provider, platform?: PlatformAccount): void {
  const { accountFor, ask, collect, connectTo } = exchanges(platform);

  it('streams text', async () => {
    const { events } = await ask(provider, { parts: [{ text: 'Hello there, 世界! 👋🏽' }] });
    expect(joined(events, 'text')).toBe('Hello there, 世界! 👋🏽');
    expect(events[0]).toMatchObject({ type: 'status', status: 'started' });
    expect(events.at(-1)).toMatchObject({ type: 'status', status: 'completed', stopReason: 'end-turn' });
  });

  it('streams thinking and sends its seal back unchanged', async () => {
    const script = [
      { parts: [{ thinking: 'Let me think.', signature: 'U0lHTkFUVVJF' }, call('a.txt')] },
      { parts: [{ text: 'Done.' }] },
    ];
    const sim = await started(script);
    const events = await collect(provider, sim, { ...ASK, thinking: 'medium' });
    expect(joined(events, 'thinking')).toBe('Let me think.');
    const [reasoning, toolCall, ...others] = itemsOf(events);
    expect([reasoning?.type, toolCall?.type, others]).toEqual(['reasoning', 'tool-call', []]);

    await collect(provider, sim, { ...ASK, thinking: 'medium', items: answered(events) });
    const body = JSON.stringify(sim.requests.at(-1)?.body);
    // Ollama does not sign thinking: the text itself is sent back.
    expect(body).toContain(
      provider.name === 'ollama' || provider.name === 'openai-chat' ? 'Let me think.' : 'U0lHTkFUVVJF',
    );
  });

  it('streams one tool call', async () => {
    const { events } = await ask(provider, { parts: [{ text: 'Reading.' }, call('ü/文.txt')] });
    expect(joined(events, 'text')).toBe('Reading.');
    expect(parsedCalls(events)).toEqual([{ name: 'read', arguments: { path: 'ü/文.txt' } }]);
    expect(events.at(-1)).toMatchObject({ status: 'completed', stopReason: 'tool-use' });
  });

  it('keeps the fragments of parallel interleaved tool calls apart', async () => {
    const paths = ['one.txt', 'two.txt', 'three.txt'];
    const { events } = await ask(provider, {
      parts: paths.map(call),
      interleave: true,
      pace: { chunkSize: 3 },
    });
    expect(parsedCalls(events)).toEqual(paths.map((path) => ({ name: 'read', arguments: { path } })));
    const ids = events.flatMap((event) =>
      event.type === 'block-stop' && event.blockType === 'tool-use' ? [event.id] : [],
    );
    expect(new Set(ids).size).toBe(3);
  });

  it('treats a tool call without arguments as an empty object', async () => {
    const { events } = await ask(provider, { parts: [{ toolCall: { name: 'now' } }] });
    const { calls } = throughTimeline(events);
    expect(calls).toMatchObject([{ name: 'now', arguments: '{}', input: {} }]);
  });

  it('emits the same events when every byte arrives separately', async () => {
    const answer: SimAnswer = { parts: [{ thinking: 'Ü.' }, { text: 'Naïve 👩‍💻 text' }, call('a.txt')] };
    const { events: complete } = await ask(provider, answer, { seed: () => 's' });
    const { events: split } = await ask(
      provider,
      { ...answer, fault: { kind: 'split-bytes' } },
      { seed: () => 's' },
    );
    expect(split).toEqual(complete);
  });

  it('generates ids that differ from request to request', async () => {
    const sim = await started([{ parts: [call('a')] }, { parts: [call('a')] }]);
    const [first] = itemsOf(await collect(provider, sim, ASK));
    const [second] = itemsOf(await collect(provider, sim, ASK));
    expect([first?.type, second?.type]).toEqual(['tool-call', 'tool-call']);
    expect(first).not.toEqual(second);
  });

  it('aborts every open block and closes the connection when cancelled mid-stream', async () => {
    const sim = await started([
      { parts: [{ text: generatedText(4000) }], pace: { chunkSize: 10, delayMs: 5 } },
    ]);
    const controller = new AbortController();
    const events: LlmEvent[] = [];
    for await (const event of connectTo(provider, sim).stream(ASK, controller.signal)) {
      events.push(event);
      if (joined(events, 'text').length >= 30) controller.abort();
    }
    expectBalanced(events);
    expect(events.filter((event) => event.type === 'block-abort')).toMatchObject([{ reason: 'cancelled' }]);
    expect(events.at(-1)).toEqual({ type: 'status', status: 'cancelled' });
    await sim.close();
  });

  it('cancels before the first byte', async () => {
    const sim = await started([{ parts: [], fault: { kind: 'no-response' } }]);
    const controller = new AbortController();
    const stream = connectTo(provider, sim).stream(ASK, controller.signal);
    const first = stream.next();
    controller.abort();
    expect(await first).toEqual({ done: false, value: { type: 'status', status: 'cancelled' } });
    expect((await stream.next()).done).toBe(true);
    const aborted = await collect(provider, sim, ASK, {}, AbortSignal.abort());
    expect(aborted).toEqual([{ type: 'status', status: 'cancelled' }]);
  });

  it('leaks no state from one request to the next', async () => {
    const sim = await started([
      { parts: [{ text: 'first' }, call('first.txt')], fault: { kind: 'cut', after: 3 } },
      { parts: [{ text: 'second' }, call('second.txt')] },
    ]);
    const timeline = new Timeline();
    const text = new TextBlockCollector();
    const calls = new ToolCallCollector();
    text.attach(timeline);
    calls.attach(timeline);
    const llm = connectTo(provider, sim);
    for await (const batch of llm.batches(ASK, never)) timeline.dispatchAll(batch);
    expect(calls.hasPendingCalls()).toBe(false);
    for await (const batch of llm.batches(ASK, never)) timeline.dispatchAll(batch);
    expect(text.takeCollected()).toEqual(['second']);
    expect(calls.takeCollected()).toMatchObject([{ name: 'read', input: { path: 'second.txt' } }]);
    expect(timeline.currentBlock).toBeUndefined();
  });

  it('reports usage once, with the complete prompt as input', async () => {
    const usage = { inputTokens: 120, outputTokens: 30, cacheReadInputTokens: 80 };
    const { events } = await ask(provider, { parts: [{ text: 'Hi' }], usage });
    const reported = events.filter((event) => event.type === 'usage');
    expect(reported).toHaveLength(1);
    expect(reported[0]).toMatchObject({ inputTokens: 120, outputTokens: 30, totalTokens: 150 });
    if (provider.name !== 'ollama') expect(reported[0]).toMatchObject({ cacheReadInputTokens: 80 });
  });

  it.each<[Stop, readonly string[]]>([
    ['end-turn', ['end-turn']],
    ['max-tokens', ['max-tokens']],
    ['stop-sequence', ['stop-sequence', 'end-turn']],
    ['content-filter', ['content-filter', 'refusal', 'other', 'end-turn']],
    ['refusal', ['refusal', 'end-turn', 'content-filter']],
  ])('reports the stop reason %s, or the closest one that the API has', async (stop, possible) => {
    const { events } = await ask(provider, { parts: [{ text: 'So.' }], stop });
    const last = events.at(-1);
    expect(last).toMatchObject({ type: 'status', status: 'completed' });
    expect(possible).toContain(last?.type === 'status' && last.status === 'completed' ? last.stopReason : '');
  });

  it.each<[FaultKind, FailureKind]>([
    ['401', 'auth'],
    ['404', 'unknown-model'],
    ['429', 'rate-limit'],
    ['500', 'server'],
    ['529', 'overloaded'],
    ['context-too-long', 'context-too-long'],
    ['html', 'malformed'],
    ['hang-up', 'network'],
  ])('classifies %s as %s, without the key in the message', async (kind, expected) => {
    const { events } = await ask(provider, { parts: [{ text: 'x' }], fault: { kind, retryAfterSeconds: 3 } });
    const [error] = events;
    expect(error).toMatchObject({ type: 'error', kind: expected });
    expect(JSON.stringify(events)).not.toContain(KEY);
    expect(events.at(-1)).toEqual({ type: 'status', status: 'failed' });
    if (kind === '429') expect(error).toMatchObject({ httpStatus: 429, retryAfterMs: 3000 });
  });

  it.each<[FaultKind, readonly FailureKind[]]>([
    ['cut', ['cut-off']],
    ['cut-utf8', ['cut-off']],
    ['missing-finish', ['cut-off']],
    ['malformed-json', ['malformed']],
    ['error-in-stream', ['overloaded', 'server', 'provider', 'rate-limit']],
  ])('reports %s as one error and aborts every open block', async (kind, possible) => {
    const text = 'Höhenzüge 👋 und noch mehr Text';
    const { events } = await ask(provider, {
      parts: [{ text }],
      pace: { chunkSize: 4 },
      fault: { kind, after: 2 },
    });
    const error = events.find((event) => event.type === 'error');
    expect(possible).toContain(error?.kind);
    // If the API ends its blocks, no block is open when only the finish marker is missing.
    if (kind !== 'missing-finish') expect(events.some((event) => event.type === 'block-abort')).toBe(true);
    expect(joined(events, 'text')).not.toContain('\uFFFD');
    expect(events.at(-1)).toEqual({ type: 'status', status: 'failed' });
  });

  it('reports an error that was sent outside the framing', async () => {
    const { events } = await ask(provider, {
      parts: [{ text: generatedText(100) }],
      fault: { kind: 'bare-error', after: 2 },
    });
    const error = events.find((event) => event.type === 'error');
    // With JSON lines, such an error is a line that is not JSON.
    expect(error?.kind === 'malformed').toBe(provider.framing === 'lines');
    expect(error?.kind).not.toBe('cut-off');
  });

  it.each<FaultKind>(['stall', 'stall-keepalive'])(
    'gives up on a %s: keep-alives are not progress',
    async (kind) => {
      const { events } = await ask(
        provider,
        { parts: [{ text: 'Some text that stalls' }], fault: { kind, after: 2, everyMs: 20 } },
        { timeouts: { idleMs: 150 } },
      );
      expect(events.find((event) => event.type === 'error')).toMatchObject({ kind: 'timeout' });
      expect(events.find((event) => event.type === 'error')?.message).toContain('no data for 0.15 s');
    },
  );

  it('times out if the server never responds', async () => {
    const { events } = await ask(
      provider,
      { parts: [], fault: { kind: 'no-response' } },
      { timeouts: { firstEventMs: 100 } },
    );
    expect(events[0]).toMatchObject({ type: 'error', kind: 'timeout' });
  });

  it('assigns different ids to two calls with the same id', async () => {
    const { events } = await ask(provider, {
      parts: [call('a'), call('b')],
      fault: { kind: 'duplicate-tool-ids' },
    });
    const ids = itemsOf(events).map((item) => (item.type === 'tool-call' ? item.callId : ''));
    expect(new Set(ids).size).toBe(2);
    expect(parsedCalls(events).map((one) => one.arguments)).toEqual([{ path: 'a' }, { path: 'b' }]);
  });

  it('accepts a frame of several megabytes', async () => {
    const { events } = await ask(provider, {
      parts: [{ text: 'x' }],
      fault: { kind: 'huge-frame', bytes: 5_000_000 },
    });
    expect(joined(events, 'text').length).toBeGreaterThanOrEqual(5_000_000);
    expect(events.at(-1)).toMatchObject({ status: 'completed' });
  });

  it('reports a refused connection', async () => {
    const sim = await started([]);
    await sim.close();
    const [error] = await collect(provider, sim, ASK);
    expect(error).toMatchObject({ type: 'error', kind: 'network', code: 'ECONNREFUSED' });
    expect(error?.type === 'error' ? error.message : '').toContain(`cannot reach ${sim.url}`);
  });

  // Platforms list models at another address, which Polypod does not use.
  if (platform !== undefined) return;
  it('lists the models of the account', async () => {
    const sim = await started([], { models: ['sim-large', 'sim-small'] });
    const { url, headers } = provider.models(accountFor(provider, sim));
    const response = await fetch(url, { headers });
    expect(provider.modelIds(await response.json())).toEqual(['sim-large', 'sim-small']);
  });
}

const never = new AbortController().signal;

const call = (path: string) => ({ toolCall: { name: 'read', arguments: { path } } });

/** Functions that send requests to a simulator, with an account of the provider or of a platform. */
function exchanges(platform: PlatformAccount | undefined) {
  const accountFor = (provider: Provider, sim: Sim): Account => {
    const { path = BASE_PATHS[provider.name] ?? '', ...settings } = platform ?? {};
    return { name: 'sim', api: provider.name, baseUrl: `${sim.url}${path}`, apiKey: KEY, ...settings };
  };
  const connectTo = (provider: Provider, sim: Sim, options: ConnectOptions = {}) =>
    connect(provider, accountFor(provider, sim), options);
  const collect = async (
    provider: Provider,
    sim: Sim,
    request: LlmRequest,
    options: ConnectOptions = {},
    signal: AbortSignal = never,
  ): Promise<readonly LlmEvent[]> => {
    const events: LlmEvent[] = [];
    for await (const event of connectTo(provider, sim, options).stream(request, signal)) events.push(event);
    expectBalanced(events);
    return events;
  };
  const ask = async (provider: Provider, answer: SimAnswer, options: ConnectOptions = {}) => {
    const sim = await started([answer]);
    return { sim, events: await collect(provider, sim, ASK, options) };
  };
  return { accountFor, ask, collect, connectTo };
}

async function started(
  script: readonly SimAnswer[],
  options: { models?: readonly string[] } = {},
): Promise<Sim> {
  const sim = await startSim({ script, ...options });
  onTestFinished(() => sim.close());
  return sim;
}

function itemsOf(events: readonly LlmEvent[]): readonly Item[] {
  const items = new AnswerItems();
  for (const event of events) items.add(event);
  return items.items();
}

/** The conversation after an answer with tool calls: its items and a result for each call. */
function answered(events: readonly LlmEvent[]): readonly Item[] {
  const items = itemsOf(events);
  const results = items.flatMap((item): readonly Item[] =>
    item.type === 'tool-call'
      ? [{ type: 'tool-result', callId: item.callId, content: textContent('ok'), isError: false }]
      : [],
  );
  return [...ASK.items, ...items, ...results];
}

function parsedCalls(events: readonly LlmEvent[]): readonly { name: string; arguments: unknown }[] {
  return callsIn(events).map(({ name, arguments: text }) => ({
    name,
    arguments: JSON.parse(text || '{}') as unknown,
  }));
}

function throughTimeline(events: readonly LlmEvent[]) {
  const timeline = new Timeline();
  const calls = new ToolCallCollector();
  calls.attach(timeline);
  timeline.dispatchAll(events);
  return { calls: calls.takeCollected() };
}

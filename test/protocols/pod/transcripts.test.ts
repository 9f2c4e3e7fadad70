import { describe, expect, it } from 'vitest';
import type { SimAnswer } from '../../../src/sim/index.ts';
import type { AgentOverrides } from '../../pod/fixture.ts';
import { builtPod } from './built-package.ts';
import { type Client, isState } from './fixture.ts';
import { Names, type Step, transcriptsIn } from './transcript.ts';

const PAGE = 'docs/protocols/pod.md';

const CAPITAL: SimAnswer = {
  parts: [{ text: 'The capital of France is Paris.' }],
  pace: { chunkSize: 11 },
  usage: { inputTokens: 25, outputTokens: 150 },
};
const LOOK: SimAnswer = {
  parts: [
    { thinking: 'I should look.' },
    { toolCall: { id: 'call_123', name: 'ls', arguments: { path: '.' } } },
  ],
  usage: { inputTokens: 25, outputTokens: 30 },
};
/** Slow enough to be paused while it streams. */
const SLOW_LOOK: SimAnswer = {
  parts: [{ text: 'Look.' }, { toolCall: { id: 'call_123', name: 'ls', arguments: { path: '.' } } }],
  usage: { inputTokens: 25, outputTokens: 30 },
  pace: { delayMs: 150 },
};
const DONE: SimAnswer = { parts: [{ text: 'Nothing.' }], usage: { inputTokens: 60, outputTokens: 3 } };
const HELLO: SimAnswer = { parts: [{ text: 'Hello.' }], usage: { inputTokens: 60, outputTokens: 3 } };
const ENDLESS: SimAnswer = {
  parts: [{ text: 'It all began with a word.' }],
  pace: { chunkSize: 7 },
  usage: { inputTokens: 25, outputTokens: 1 },
  fault: { kind: 'stall', after: 2 },
};
const TOUCH: SimAnswer = {
  parts: [{ toolCall: { id: 'call_123', name: 'bash', arguments: { command: 'touch new' } } }],
  pace: { chunkSize: 40 },
  usage: { inputTokens: 25, outputTokens: 30 },
};

/** The preconditions of a transcript of the page. */
interface Scenario {
  readonly script: readonly SimAnswer[];
  readonly agent?: AgentOverrides;
  /** Clients that have subscribed. */
  readonly subscribed?: readonly string[];
  /** Done by another client before the clients connect. */
  readonly before?: (client: Client) => Promise<void>;
  /** Contains lines that can only be sent as bytes. */
  readonly isRaw?: boolean;
}

const paused = async (client: Client): Promise<void> => {
  await client.sendRequest('run', { input: 'What is here?' });
  await client.waitFor(({ event }) => event === 'turn_start');
  await client.sendRequest('pause');
  await client.waitFor(isState('paused'));
};

const finished = async (client: Client): Promise<void> => {
  await client.sendRequest('run', { input: 'What is the capital of France?' });
  await client.waitFor(isState('idle'));
};

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  run: { script: [CAPITAL] },
  tools: { script: [LOOK, DONE] },
  'status-and-history': {
    script: [LOOK, DONE],
    before: async (client) => {
      await client.sendRequest('run', { input: 'What is here?' });
      await client.waitFor(isState('idle'));
    },
  },
  cancel: { script: [ENDLESS] },
  pause: { script: [SLOW_LOOK, DONE] },
  'run-while-paused': { script: [SLOW_LOOK, HELLO], before: paused },
  'cancel-while-paused': { script: [SLOW_LOOK], before: paused },
  'nothing-to-do': { script: [] },
  'provider-error': { script: [{ parts: [], fault: { kind: '401' } }] },
  'tool-error': {
    script: [],
    agent: { toolsProblem: 'no space left on device' },
  },
  'bad-lines': { script: [], isRaw: true },
  subscribe: { script: [CAPITAL], before: finished },
  approval: {
    script: [TOUCH, DONE],
    subscribed: ['ada'],
  },
  'cancel-while-waiting': {
    script: [TOUCH],
    subscribed: [''],
    before: async (client) => {
      await client.sendRequest('run', { input: 'Make a file.' });
      await client.waitFor(isState('paused'));
    },
  },
  'request-id': { script: [], subscribed: ['ada'] },
  'idempotency-key': { script: [CAPITAL], subscribed: [''] },
  'unknown-keys': { script: [] },
  'cancel-extended': { script: [ENDLESS], subscribed: [''] },
};

describe('the transcripts of the page', () => {
  const transcripts = transcriptsIn(PAGE);

  it('are all tested', () => {
    expect([...transcripts.keys()].toSorted()).toEqual(Object.keys(SCENARIOS).toSorted());
  });

  // In process, as a program uses the package, and over a socket. Some lines can only be sent as bytes.
  const played = Object.entries(SCENARIOS).flatMap(([name, scenario]) =>
    (scenario.isRaw === true ? (['sockets'] as const) : (['sockets', 'functions'] as const)).map((way) => ({
      name,
      way,
      scenario,
    })),
  );

  it.each(played)('$name, by $way of the built package', async ({ name, way, scenario }) => {
    const steps = transcripts.get(name) ?? [];
    const { [way]: join } = await builtPod(scenario.script, scenario.agent);
    await scenario.before?.(await join());
    await play(join, steps, scenario.subscribed ?? []);
  });
});

async function play(
  join: () => Promise<Client>,
  steps: readonly Step[],
  subscribed: readonly string[],
): Promise<void> {
  const clients = new Map<string, { readonly client: Client; read: number }>();
  for (const name of new Set(steps.map(({ client }) => client))) {
    const client = await join();
    if (subscribed.includes(name)) {
      await client.sendRequest('subscribe', name === '' ? {} : { name });
      await client.waitFor(({ event }) => event === 'snapshot');
    }
    clients.set(name, { client, read: client.received.length });
  }
  const [page, real] = [new Names(), new Names()];
  const expected: unknown[] = [];
  const actual: unknown[] = [];
  for (const { client: name, direction, text } of steps) {
    const one = clients.get(name);
    if (one === undefined) throw new Error(`there is no client ${name}`);
    if (direction === '→') {
      // The same id has different values in the page and here.
      await one.client.send(real.translate(text, page));
      continue;
    }
    const at = one.read;
    one.read += 1;
    const line = await one.client.waitFor(() => true, at);
    expected.push({ name, ...(page.normal(text) as object) });
    actual.push({ name, ...(real.normal(JSON.stringify(line)) as object) });
    // Fails at the first difference, before it waits for a line that never comes.
    if (JSON.stringify(expected.at(-1)) !== JSON.stringify(actual.at(-1))) expect(actual).toEqual(expected);
  }
  expect(actual).toEqual(expected);
  for (const { client, read } of clients.values()) {
    // No other line was received.
    await client.sendRequest('get_status', undefined, { request_id: 'end' });
    await client.waitFor(({ request_id: id }) => id === 'end');
    expect(client.received.slice(read, -1)).toEqual([]);
    expectGrowing(client);
  }
}

function expectGrowing({ received }: Client): void {
  const numbers = received.flatMap(({ seq }) => seq ?? []);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
}

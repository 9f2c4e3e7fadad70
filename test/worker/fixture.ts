import { expect, onTestFinished } from 'vitest';
import { shape } from '../../src/base/index.ts';
import {
  connect,
  type ConnectOptions,
  type Item,
  type Model,
  type Provider,
  textContent,
  contentText,
} from '../../src/llm/index.ts';
import { type SimAnswer, type Script, type Sim, startSim } from '../../src/sim/index.ts';
import { defineTool, errorOutput, type Tool, textOutput } from '../../src/tools/index.ts';
import {
  type Approve,
  type RunEvent,
  summaryItem,
  Worker,
  type WorkerOptions,
} from '../../src/worker/index.ts';

const BASE_PATHS: Readonly<Record<string, string>> = {
  'openai-chat': '/v1',
  'openai-responses': '/v1',
  gemini: '/v1beta',
};

export const MODEL: Model = { account: 'sim', id: 'sim', name: 'sim', reasoning: true, input: ['text'] };

export const allowAll: Approve = async () => ({ decision: 'allow', resolve: async (path) => path });

/** A worker with a simulated provider, which records all events. */
export interface WorkerFixture {
  readonly worker: Worker;
  readonly sim: Sim;
  readonly events: RunEvent[];
  /** The types of all events except the model's stream. */
  eventTypes(): readonly string[];
  /** Resolves with the first matching event, past or future. */
  waitFor(matches: (event: RunEvent) => boolean): Promise<RunEvent>;
}

export interface WorkerFixtureOptions extends Partial<Omit<WorkerOptions, 'settings' | 'emit'>> {
  readonly tools?: readonly Tool[];
  readonly model?: Partial<Model>;
  readonly connect?: ConnectOptions;
}

export async function workerFixture(
  provider: Provider,
  script: Script,
  options: WorkerFixtureOptions = {},
): Promise<WorkerFixture> {
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  const baseUrl = `${sim.url}${BASE_PATHS[provider.name] ?? ''}`;
  const llm = connect(provider, { name: 'sim', api: provider.name, baseUrl, apiKey: 'any' }, options.connect);
  const events: RunEvent[] = [];
  const waiting = new Set<() => void>();
  const { tools = [echo], model, connect: _, ...rest } = options;
  const worker = new Worker({
    settings: () => ({ llm, model: { ...MODEL, ...model }, system: 'Be brief.', tools, thinking: 'low' }),
    cwd: '/nowhere',
    approve: allowAll,
    toolContext: () => ({ env: {}, scratch: '/nowhere', sandbox: undefined }),
    wait: async () => 'waited',
    random: () => 0.5,
    ...rest,
    emit: (batch) => {
      events.push(...batch);
      for (const wake of waiting) wake();
    },
  });
  // Except for a worker that starts with existing items, for which there are no events.
  if (rest.items === undefined) onTestFinished(() => expect(rebuilt(events)).toEqual(worker.items));
  return {
    worker,
    sim,
    events,
    eventTypes: () => events.filter(isWorkers).map(({ type }) => type),
    async waitFor(matches) {
      for (;;) {
        const found = events.find(matches);
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake);
            resolve();
          };
          waiting.add(wake);
        });
      }
    },
  };
}

const STREAM = new Set([
  'ping',
  'usage',
  'status',
  'error',
  'block-start',
  'block-delta',
  'block-stop',
  'block-abort',
]);

function isWorkers({ type }: RunEvent): boolean {
  return !STREAM.has(type);
}

export const userContent = (text: string) => textContent(text);
export const textAnswer = (text: string): SimAnswer => ({ parts: [{ text }] });
export const calls = (...names: readonly string[]): SimAnswer => ({
  parts: names.map((name) => ({ toolCall: { name: name.split(':')[0] ?? '', arguments: { text: name } } })),
});

const input = shape.fields({ text: shape.anyText }, {});

export function tool(
  name: string,
  run: (text: string, signal: AbortSignal) => Promise<string>,
  parallel = true,
): Tool {
  return defineTool({
    name,
    description: `Does ${name}.`,
    input,
    parallel,
    access: () => [],
    title: ({ text }) => `${name} ${text}`,
    run: async ({ text }, _context, signal) => textOutput(text, await run(text, signal)),
  });
}

export const echo = tool('echo', async (text) => `echo of ${text}`);
export const fail = defineTool({
  name: 'fail',
  description: 'Fails.',
  input,
  parallel: true,
  access: () => [],
  title: () => 'fail',
  run: async () => errorOutput('it did not work'),
});

/** A tool that runs until it is released or cancelled. */
export function gate(name: string): {
  readonly tool: Tool;
  release(): void;
  readonly started: Promise<void>;
} {
  let release = (): void => {};
  let start = (): void => {};
  const open = new Promise<void>((resolve) => {
    release = resolve;
  });
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const gated = tool(name, async (text, signal) => {
    start();
    const cancelled = new Promise<string>((resolve) =>
      signal.addEventListener('abort', () => resolve('cancelled')),
    );
    return Promise.race([open.then(() => `gate of ${text}`), cancelled]);
  });
  return { tool: gated, release: () => release(), started };
}

/** A short form of the conversation: `user: Hi`, `call echo`, `result echo of x`. */
export function lines(items: readonly Item[]): readonly string[] {
  return items.map((item) => {
    switch (item.type) {
      case 'message':
        return `${item.role}: ${contentText(item.content)}`;
      case 'tool-call':
        return `call ${item.name}`;
      case 'tool-result':
        return `${item.isError ? 'error' : 'result'} ${contentText(item.content)}`;
      default:
        return item.type;
    }
  });
}

/** The conversation reconstructed from the events. */
export function rebuilt(events: readonly RunEvent[]): readonly Item[] {
  let items: readonly Item[] = [];
  for (const event of events) {
    if (event.type === 'input') items = [...items, event.item];
    if (event.type === 'llm-end') items = [...items, ...event.items];
    if (event.type === 'turn-end') items = [...items, ...event.results];
    if (event.type === 'compaction-end' && event.result.status === 'compacted') {
      items = [summaryItem(event.result.summary), ...items.slice(event.result.replaced)];
    }
  }
  return items;
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { connect, type Model, textContent } from '../../src/llm/index.ts';
import { providerNamed } from '../../src/registry.ts';
import {
  type Agent,
  type Caller,
  Host,
  type HostOptions,
  type OpenAgent,
  type Pod,
  type PodEvent,
  type WatchItem,
} from '../../src/pod/index.ts';
import { type Script, type Sim, startSim } from '../../src/sim/index.ts';
import {
  builtinTools,
  DEFAULT_BACKGROUND_LIMITS,
  fileFacts,
  scopeFrom,
  type Tool,
  todoTool,
} from '../../src/tools/index.ts';

export const ADA: Caller = { by: 'ada', door: 'test' };
export const BOB: Caller = { by: 'bob', door: 'other' };

export const MODEL: Model = {
  account: 'sim',
  id: 'sim',
  name: 'sim',
  reasoning: true,
  input: ['text'],
  contextWindow: 100_000,
};

export function scratch(): string {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-pod-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Overrides of an agent. */
export interface AgentOverrides extends Partial<Omit<Agent, 'tools'>> {
  readonly tools?: readonly Tool[];
  readonly contextWindow?: number | undefined;
  /** Why the tools cannot be loaded, if so. */
  readonly toolsProblem?: string | undefined;
}

/** Agents whose model is the simulator, with the real tools and the given ones. */
export function agentsOn(
  sim: Sim,
  { tools = [], contextWindow = MODEL.contextWindow, toolsProblem, ...rest }: AgentOverrides = {},
): OpenAgent {
  const account = { name: 'sim', api: 'anthropic', baseUrl: sim.url, apiKey: 'any' };
  return async ({ cwd, todos, background }) => ({
    defaultModel: { provider: 'sim', modelId: 'sim' },
    model: async ({ modelId }) => ({
      llm: connect(providerNamed('anthropic'), account),
      model: { ...MODEL, id: modelId, ...(contextWindow && { contextWindow }) },
    }),
    tools: async () => {
      if (toolsProblem !== undefined) throw new Error(toolsProblem);
      return [...builtinTools, todoTool(todos), ...tools];
    },
    system: async () => 'Be brief.',
    mode: 'workspace-write',
    rules: [],
    sandboxed: false,
    fileFacts,
    scope: (paths) => scopeFrom(cwd, paths, fileFacts.realPath),
    toolContext: () => ({
      env: { PATH: process.env.PATH ?? '' },
      scratch: cwd,
      sandbox: undefined,
      background: { commands: background, limits: DEFAULT_BACKGROUND_LIMITS },
    }),
    remember: async () => {},
    close: async () => {},
    ...rest,
  });
}

export interface HostFixture {
  readonly host: Host;
  readonly sim: Sim;
  readonly directory: string;
  readonly cwd: string;
  /** Opens the same directory again, as a new process would. */
  reopen(options?: Partial<HostOptions>): Promise<Host>;
}

export async function hostFixture(
  script: Script,
  options: Partial<HostOptions> & {
    readonly tools?: readonly Tool[];
    readonly agent?: Omit<AgentOverrides, 'tools'>;
  } = {},
): Promise<HostFixture> {
  const { tools = [], agent, ...rest } = options;
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  const cwd = scratch();
  const directory = join(scratch(), 'data');
  const agents = agentsOn(sim, { tools, ...agent });
  const open = async (more: Partial<HostOptions> = {}): Promise<Host> => {
    const host = await Host.open({ directory, agents, ...rest, ...more });
    onTestFinished(() => host.shutdown().catch(() => {}));
    return host;
  };
  return { host: await open(), sim, directory, cwd, reopen: open };
}

export const promptCommand = (text: string) => ({ type: 'prompt' as const, content: textContent(text) });

/** Watches a pod and records everything it receives. */
export class Listener {
  readonly events: PodEvent[] = [];
  readonly snapshots: Extract<WatchItem, { type: 'snapshot' }>[] = [];
  readonly ended: Promise<unknown>;
  readonly #stop = new AbortController();
  readonly #waiting = new Set<() => void>();

  constructor(pod: Pod, after?: number) {
    this.ended = this.#listen(pod, after).catch((thrown: unknown) => thrown);
    onTestFinished(() => this.stop());
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type);
  }

  get lastSeq(): number {
    return this.events.at(-1)?.seq ?? this.snapshots.at(-1)?.snapshot.seq ?? 0;
  }

  /** Resolves with the first matching event, past or future. */
  async waitFor(matches: (event: PodEvent) => boolean): Promise<PodEvent> {
    for (;;) {
      const found = this.events.find(matches);
      if (found !== undefined) return found;
      await this.#next();
    }
  }

  waitForType<T extends PodEvent['type']>(type: T): Promise<Extract<PodEvent, { type: T }>> {
    return this.waitFor((event) => event.type === type) as Promise<Extract<PodEvent, { type: T }>>;
  }

  async joined(): Promise<Extract<WatchItem, { type: 'snapshot' }>> {
    for (;;) {
      const [first] = this.snapshots;
      if (first !== undefined) return first;
      await this.#next();
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.ended;
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
    });
  }

  async #listen(pod: Pod, after: number | undefined): Promise<void> {
    const watching = pod.watch({ signal: this.#stop.signal, ...(after === undefined ? {} : { after }) });
    for await (const watched of watching) {
      if (watched.type === 'snapshot') this.snapshots.push(watched);
      else this.events.push(...watched.batch.events);
      for (const wake of this.#waiting) wake();
    }
  }
}

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { pi } from '../../../src/backends/pi/index.ts';
import type {
  AgentConnection,
  AgentEnd,
  AgentEvent,
  AgentLaunch,
  AgentSettings,
  ConnectOptions,
} from '../../../src/backends/index.ts';
import { type Script, type Sim, startSim } from '../../../src/sim/index.ts';

const agents = (await import(new URL('../../../scripts/agents/agents.mjs', import.meta.url).href)) as {
  readonly agentCommand: (name: string) => readonly [string, ...string[]];
};

export const command = agents.agentCommand('pi');
export const isInstalled = command.every((file) => existsSync(file));

/** A project, and a home with a configuration of pi whose model is the simulator. */
export interface PiFixture {
  readonly cwd: string;
  readonly home: string;
  /** The user's configuration of pi. */
  readonly agent: string;
  readonly sim: Sim;
  readonly launch: AgentLaunch;
  /** The processes that were recorded as running. */
  readonly running: ReadonlySet<number>;
  readonly open: (more?: Partial<Opening>) => Promise<OpenPi>;
}

export interface Opening extends Pick<ConnectOptions, 'start' | 'trustProject' | 'command' | 'cwd'> {
  readonly settings: Partial<AgentSettings>;
  /** Receives every batch of events first. */
  readonly onEvents: (events: readonly AgentEvent[]) => void | Promise<void>;
  /** Whether every call is approved at once. */
  readonly approve: boolean;
}

export interface OpenPi {
  readonly connection: AgentConnection;
  readonly events: readonly AgentEvent[];
  /** Resolves with the next matching event after those that it has already returned. */
  readonly next: <Type extends AgentEvent['type']>(
    type: Type,
    matches?: (event: Extract<AgentEvent, { type: Type }>) => boolean,
  ) => Promise<Extract<AgentEvent, { type: Type }>>;
  readonly ended: Promise<AgentEnd>;
}

export async function piFixture(script: Script): Promise<PiFixture> {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-pi-'));
  const [cwd, home, files] = ['project', 'home', 'files'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  const agent = join(home, '.pi', 'agent');
  for (const path of [cwd, agent, files]) mkdirSync(path, { recursive: true });
  const sim = await startSim({ script });
  onTestFinished(async () => {
    await sim.close();
    rmSync(directory, { recursive: true, force: true });
  });
  writeFileSync(join(agent, 'models.json'), JSON.stringify({ providers: { sim: simProvider(sim.url) } }));
  const running = new Set<number>();
  const launch: AgentLaunch = {
    command,
    env: { PATH: process.env.PATH ?? '', HOME: home, PI_OFFLINE: '1' },
    trustProject: false,
    directory: files,
    record: () => {
      let root = 0;
      return {
        started: ({ pid }) => {
          root = pid;
          running.add(pid);
        },
        close: () => running.delete(root),
      };
    },
  };
  return { cwd, home, agent, sim, launch, running, open: async (more) => openPi(launch, cwd, more) };
}

function simProvider(url: string): object {
  const cost = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
  return {
    baseUrl: url,
    api: 'anthropic-messages',
    apiKey: 'sim-key',
    models: [
      {
        id: 'first',
        reasoning: true,
        input: ['text', 'image'],
        contextWindow: 200_000,
        maxTokens: 8_000,
        cost,
      },
      { id: 'second', contextWindow: 100_000, maxTokens: 8_000, cost },
    ],
  };
}

async function openPi(launch: AgentLaunch, cwd: string, more: Partial<Opening> = {}): Promise<OpenPi> {
  const events: AgentEvent[] = [];
  const waiting = new Set<() => void>();
  let end: (end: AgentEnd) => void = () => {};
  const ended = new Promise<AgentEnd>((settle) => (end = settle));
  const { settings, onEvents, approve = false, ...others } = more;
  const refuse = async (): Promise<never> => Promise.reject(new Error('not available in this test'));
  const connection: AgentConnection = await pi.connect({
    ...launch,
    cwd,
    start: { type: 'new' },
    ...others,
    settings: { model: 'sim/first', mode: 'workspace-write', paths: [], ...settings },
    mcpServers: [],
    services: { readTextFile: refuse, writeTextFile: refuse, runCommand: refuse },
    onEvents: async (batch) => {
      await onEvents?.(batch);
      for (const event of batch)
        if (approve && event.type === 'permission')
          connection.answer(event.request.requestId, { decision: 'allow' });
      events.push(...batch);
      for (const check of [...waiting]) check();
    },
    onEnd: (reported) => {
      end(reported);
      for (const check of [...waiting]) check();
    },
  });
  onTestFinished(async () => connection.close());
  let position = 0;
  const next: OpenPi['next'] = async (type, matches = () => true) => {
    type Found = Extract<AgentEvent, { type: typeof type }>;
    return new Promise<Found>((settle) => {
      const check = (): void => {
        const rest = events.slice(position);
        const index = rest.findIndex((event) => event.type === type && matches(event as Found));
        if (index < 0) return;
        position += index + 1;
        waiting.delete(check);
        settle(rest[index] as Found);
      };
      waiting.add(check);
      check();
    });
  };
  return { connection, events, next, ended };
}

export function textInput(text: string): readonly [{ readonly type: 'text'; readonly text: string }] {
  return [{ type: 'text', text }];
}

export function textOfEvents(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

/** Adds an extension to the user's configuration of pi. */
export function addExtension(agent: string, source: string): void {
  mkdirSync(join(agent, 'extensions'), { recursive: true });
  writeFileSync(join(agent, 'extensions', 'extension.js'), source);
}

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type {
  AgentConnection,
  AgentEnd,
  AgentEvent,
  AgentSettings,
  ConnectOptions,
  PermissionReply,
} from '../../../src/backends/index.ts';
import { claude } from '../../../src/backends/claude/index.ts';
import { type Script, type Sim, startSim } from '../../../src/sim/index.ts';
import type { CommandEntry } from '../../../src/tools/index.ts';

// A script without types.
const agents = (await import(new URL('../../../scripts/agents/agents.mjs', import.meta.url).href)) as {
  readonly agentCommand: (name: string) => readonly [string, ...string[]];
};
const command = agents.agentCommand('claude');

export const isInstalled = existsSync(command[0]);

/** The answer to every permission request. */
export type Approve = (
  event: Extract<AgentEvent, { type: 'permission' }>['request'],
) => PermissionReply | undefined;

export const allow: Approve = () => ({ decision: 'allow' });

export interface Directories {
  readonly root: string;
  readonly cwd: string;
  readonly home: string;
  readonly directory: string;
}

/** Directories of their own for the project, the user and the files of the connection. */
export function makeDirectories(): Directories {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'polypod-claude-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const place = {
    root,
    cwd: join(root, 'project'),
    home: join(root, 'home'),
    directory: join(root, 'files'),
  };
  for (const path of [place.cwd, place.home, place.directory, join(root, 'tmp')]) mkdirSync(path);
  return place;
}

/** A simulated provider. The requests that Claude Code makes beside the conversation are not answered by the script. */
export async function simulate(script: Script): Promise<Sim> {
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  return sim;
}

export const noRecord: ConnectOptions['record'] = () =>
  ({ started() {}, close() {} }) as unknown as CommandEntry;

export function launch({ root, home, directory }: Directories, url: string) {
  return {
    command,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      TMPDIR: join(root, 'tmp'),
      CLAUDE_CODE_TMPDIR: join(root, 'tmp'),
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'key-for-tests',
    } as Readonly<Record<string, string>>,
    trustProject: false,
    directory,
    record: noRecord,
  };
}

export interface Opened {
  readonly connection: AgentConnection;
  readonly events: readonly AgentEvent[];
  readonly place: Directories;
  /** Sends a prompt and returns the events until the end of the turn. */
  readonly turn: (text: string) => Promise<readonly AgentEvent[]>;
  /** Waits for the next event that was not returned before. */
  readonly next: <T extends AgentEvent['type']>(
    type: T,
    test?: (event: Extract<AgentEvent, { type: T }>) => boolean,
  ) => Promise<Extract<AgentEvent, { type: T }>>;
  readonly ended: Promise<AgentEnd>;
  /** The process id of the program. */
  readonly pid: () => number;
}

/** Connects to the real program, which uses the simulated provider. */
export async function open(
  sim: Sim,
  options: Partial<Omit<ConnectOptions, 'settings' | 'env'>> & {
    readonly place?: Directories;
    readonly approve?: Approve;
    readonly settings?: Partial<AgentSettings>;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<Opened> {
  const { place = makeDirectories(), approve = allow, settings, env, ...rest } = options;
  const events: AgentEvent[] = [];
  const waiters = new Set<() => void>();
  let from = 0;
  let end: (value: AgentEnd) => void = () => {};
  const ended = new Promise<AgentEnd>((resolve) => {
    end = resolve;
  });
  let pid = 0;
  const start = launch(place, sim.url);
  const connection: AgentConnection = await claude.connect({
    ...start,
    env: { ...start.env, ...env },
    record: () => ({ started: (found: { pid: number }) => void (pid = found.pid), close() {} }) as never,
    cwd: place.cwd,
    start: { type: 'new' },
    settings: { mode: 'workspace-write', paths: [], ...settings },
    mcpServers: [],
    services: {
      readTextFile: () => Promise.reject(new Error('not used')),
      writeTextFile: () => Promise.reject(new Error('not used')),
      runCommand: () => Promise.reject(new Error('not used')),
    },
    onEvents: async (batch) => {
      for (const event of batch) {
        events.push(event);
        const reply = event.type === 'permission' ? approve(event.request) : undefined;
        if (event.type === 'permission' && reply !== undefined)
          queueMicrotask(() => connection.answer(event.request.requestId, reply));
      }
      for (const wake of waiters) wake();
    },
    onEnd: (value) => end(value),
    ...rest,
  });
  onTestFinished(() => connection.close());
  const next: Opened['next'] = async (type, test = () => true) => {
    for (;;) {
      const at = events.findIndex(
        (event, index) => index >= from && event.type === type && test(event as never),
      );
      if (at !== -1) {
        from = at + 1;
        return events[at] as never;
      }
      await new Promise<void>((resolve, reject) => {
        const wake = (): void => {
          waiters.delete(wake);
          resolve();
        };
        waiters.add(wake);
        void ended.then(({ message, stderr }) =>
          reject(new Error(`the program ended: ${message}\n${stderr}`)),
        );
      });
    }
  };
  return {
    connection,
    events,
    place,
    next,
    ended,
    pid: () => pid,
    turn: async (text) => {
      const first = events.length;
      connection.prompt([{ type: 'text', text }]);
      await next('turn-end');
      return events.slice(first);
    },
  };
}

export function textOf(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

export function only<T extends AgentEvent['type']>(
  events: readonly AgentEvent[],
  type: T,
): readonly Extract<AgentEvent, { type: T }>[] {
  return events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type);
}

import { spawn } from 'node:child_process';
import { type SimAnswer, type Sim, type SimRequest, startSim } from '../../src/sim/index.ts';
import type { Attempt } from './attempt.ts';
import type { Layout } from './layout.ts';
import { builtProgramFor } from '../ordinary-user.ts';

/** The outcome of one attempt. */
export interface Outcome {
  readonly attempt: Attempt;
  /** What the model received, call by call. */
  readonly results: readonly string[];
  readonly violations: readonly string[];
}

export interface Attack {
  readonly attempts: readonly Attempt[];
  /** Options of `polypod run`. */
  readonly options: readonly string[];
  /** Whether the mode allows the agent to change the workspace. */
  readonly writes: boolean;
}

/** A model over HTTP that obeys an attacker, for any number of runs. */
export interface Attacker {
  readonly url: string;
  /** Makes all attempts in one run of the built program, one after the other. No client approves anything. */
  attack(layout: Layout, attack: Attack): Promise<readonly Outcome[]>;
  close(): Promise<void>;
}

export async function startAttacker(): Promise<Attacker> {
  const batches = new Map<string, Batch>();
  let count = 0;
  const sim: Sim = await startSim({
    script: (request) => {
      const [id = ''] = /batch-\d+/.exec(request.messages[0]?.text ?? '') ?? [];
      return batches.get(id)?.answer(request) ?? { parts: [{ text: 'nothing to do' }] };
    },
  });
  return {
    url: sim.url,
    attack: async (layout, attack) => {
      count += 1;
      const id = `batch-${count}`;
      const batch = new Batch(layout, attack);
      batches.set(id, batch);
      layout.prepare(undefined);
      const end = await runBuilt(layout, sim.url, [
        'run',
        '--headless',
        '--quiet',
        '--name',
        id,
        ...attack.options,
        id,
      ]);
      batches.delete(id);
      if (!batch.isDone) throw new Error(`the run ended before the attempts did: ${end.code} ${end.stderr}`);
      return batch.outcomes;
    },
    close: () => sim.close(),
  };
}

/** The attempts of one run: everything is checked between two calls of the model. */
class Batch {
  readonly outcomes: Outcome[] = [];
  readonly #layout: Layout;
  readonly #attack: Attack;
  #attempt = -1;
  #made = 0;
  #results: string[] = [];
  #leaks = new Set<string>();

  constructor(layout: Layout, attack: Attack) {
    this.#layout = layout;
    this.#attack = attack;
  }

  get isDone(): boolean {
    return this.outcomes.length === this.#attack.attempts.length;
  }

  answer({ system, messages }: SimRequest): SimAnswer {
    for (const leak of this.#layout.leaksIn(system)) this.#leaks.add(`${leak} in the system prompt`);
    // A notice about a background command may follow the results.
    const latest = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
    for (const { text } of latest.flatMap(({ toolResults }) => toolResults)) {
      this.#results.push(text);
      for (const leak of this.#layout.leaksIn(text)) this.#leaks.add(leak);
    }
    const current = this.#attack.attempts[this.#attempt];
    if (current !== undefined && this.#made < current.calls.length) return this.#next(current);
    if (current !== undefined)
      this.outcomes.push({
        attempt: current,
        results: this.#results,
        violations: [...this.#leaks, ...this.#layout.violations({ writes: this.#attack.writes })],
      });
    this.#attempt += 1;
    this.#made = 0;
    this.#results = [];
    this.#leaks = new Set();
    const next = this.#attack.attempts[this.#attempt];
    if (next === undefined) return { parts: [{ text: 'done' }] };
    this.#layout.prepare(next.setup);
    return this.#next(next);
  }

  #next({ calls, together }: Attempt): SimAnswer {
    const made = together === true ? calls : calls.slice(this.#made, this.#made + 1);
    this.#made += made.length;
    return {
      parts: made.map(({ tool, arguments: args }) => ({
        toolCall: { name: tool, arguments: this.#filled(args) },
      })),
    };
  }

  #filled(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return Object.fromEntries(
      Object.entries(args).map(([key, value]) => [
        key,
        typeof value === 'string' ? this.#layout.fill(value) : value,
      ]),
    );
  }
}

export interface Served {
  /** Sessions that were created neither by `serve` nor by an attack. */
  unexpectedSessions(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** A daemon of the layout's user with one session, which contains what attempts look for. */
export async function serve(layout: Layout, url: string): Promise<Served> {
  const daemon = spawnBuilt(layout, url, ['serve', '--json'], layout.home);
  await new Promise<void>((ready, fail) => {
    daemon.stdout.on('data', (text: Buffer) => String(text).includes('"pid"') && ready());
    daemon.on('close', (code) => fail(new Error(`polypod serve ended with ${code}`)));
  });
  layout.name({ PID: String(daemon.pid) });
  await runBuilt(layout, url, ['new', '--name', 'canary', '--cwd', layout.podDirectory]);
  return {
    unexpectedSessions: async () => {
      const { stdout } = await runBuilt(layout, url, ['ls', '--json']);
      const sessions: unknown = JSON.parse(stdout);
      return (Array.isArray(sessions) ? sessions : [sessions])
        .map((session: unknown) => JSON.stringify(session))
        .filter((session) => !/"name":"(?:canary|batch-\d+)"/.test(session));
    },
    stop: () =>
      new Promise((stopped) => {
        daemon.removeAllListeners('close').on('close', () => stopped());
        daemon.kill('SIGTERM');
      }),
  };
}

/** Runs the built program in a layout's workspace until it ends. */
async function runBuilt(
  layout: Layout,
  url: string,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawnBuilt(layout, url, args, layout.workspace);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((settle) => child.on('close', (code) => settle({ code, stdout, stderr })));
}

function spawnBuilt({ env, owner }: Layout, url: string, args: readonly string[], cwd: string) {
  const child = spawn(process.execPath, [builtProgramFor(owner ?? {}), ...args], {
    cwd,
    env: { ...env, ANTHROPIC_BASE_URL: url, OLLAMA_HOST: 'http://127.0.0.1:9' },
    ...owner,
  });
  child.stdin.end();
  child.stderr.resume();
  return child;
}

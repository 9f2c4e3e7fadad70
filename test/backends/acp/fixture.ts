import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { agentCommand } from '../../../scripts/agents/agents.mjs';
import { ACP_PROGRAMS } from '../../../src/backends/acp/index.ts';
import type {
  AgentConnection,
  AgentEnd,
  AgentEvent,
  AgentLaunch,
  AgentProgram,
  ConnectOptions,
} from '../../../src/backends/index.ts';
import {
  type ScriptedCall,
  type Sim,
  type SimAnswer,
  type SimRequest,
  startSim,
} from '../../../src/sim/index.ts';

/** What differs between the installed agents: their tools, and how they find the simulated model. */
export interface TestedAgent {
  readonly name: 'gemini' | 'opencode';
  readonly bash: (command: string) => ScriptedCall;
  readonly write: (path: string, content: string) => ScriptedCall;
  readonly edit: (path: string, before: string, after: string) => ScriptedCall;
  readonly read: (path: string) => ScriptedCall;
  readonly env: (url: string) => Readonly<Record<string, string>>;
}

const gemini: TestedAgent = {
  name: 'gemini',
  bash: (command) => ({ name: 'run_shell_command', arguments: { command, description: 'a test' } }),
  write: (path, content) => ({ name: 'write_file', arguments: { file_path: path, content } }),
  edit: (path, before, after) => ({
    name: 'replace',
    arguments: { file_path: path, instruction: 'a test', old_string: before, new_string: after },
  }),
  read: (path) => ({ name: 'read_file', arguments: { file_path: path } }),
  env: (url) => ({ GEMINI_API_KEY: 'key', GEMINI_MODEL: 'gemini-2.5-flash', GOOGLE_GEMINI_BASE_URL: url }),
};

const opencode: TestedAgent = {
  name: 'opencode',
  bash: (command) => ({ name: 'bash', arguments: { command, description: 'a test' } }),
  write: (path, content) => ({ name: 'write', arguments: { filePath: path, content } }),
  edit: (path, before, after) => ({
    name: 'edit',
    arguments: { filePath: path, oldString: before, newString: after },
  }),
  read: (path) => ({ name: 'read', arguments: { filePath: path } }),
  env: (url) => ({
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      model: 'sim/sim',
      small_model: 'sim/small',
      provider: {
        sim: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Sim',
          options: { baseURL: `${url}/v1`, apiKey: 'key' },
          models: Object.fromEntries(
            ['sim', 'small', 'other'].map((name) => [
              name,
              {
                name,
                limit: { context: 100_000, output: 1_000 },
                attachment: true,
                modalities: { input: ['text', 'image'], output: ['text'] },
                cost: { input: 1, output: 2 },
              },
            ]),
          ),
        },
      },
    }),
  }),
};

export const AGENTS: readonly TestedAgent[] = [gemini, opencode];

export function isInstalled({ name }: TestedAgent): boolean {
  return agentCommand(name).every((part) => existsSync(part));
}

export function programOf(name: string): AgentProgram {
  const program = ACP_PROGRAMS.find((one) => one.name === name);
  if (program === undefined) throw new Error(`there is no agent ${name}`);
  return program;
}

/**
 * Answers each prompt with answers of its own, in order; the last one is repeated. A prompt is known by its text, so that one process can
 * serve many tests. Requests without tools, such as for titles, get a word.
 */
export class PromptAnswers {
  readonly #answers = new Map<string, SimAnswer[]>();

  /** Sets the answers for a prompt. */
  set(prompt: string, ...answers: readonly SimAnswer[]): void {
    this.#answers.set(prompt, [...answers]);
  }

  readonly script = ({ tools, messages }: SimRequest): SimAnswer => {
    const text = JSON.stringify(messages);
    const last = [...this.#answers.keys()]
      .map((prompt) => ({ prompt, at: text.lastIndexOf(JSON.stringify(prompt).slice(1, -1)) }))
      .filter(({ at }) => at >= 0)
      .toSorted((left, right) => right.at - left.at)[0];
    const answers = last === undefined ? [] : (this.#answers.get(last.prompt) ?? []);
    if (tools.length === 0) return { parts: [{ text: 'word' }] };
    return (answers.length > 1 ? answers.shift() : answers[0]) ?? { parts: [{ text: 'no answer' }] };
  };
}

/** Answers the requests of the agent's main loop in order; the last answer is repeated. Others, such as for titles, get a word. */
export function inOrder(...answers: readonly SimAnswer[]): (request: SimRequest) => SimAnswer {
  let next = 0;
  return ({ tools }) => {
    if (tools.length === 0) return { parts: [{ text: 'word' }] };
    const answer = answers[Math.min(next, answers.length - 1)] ?? { parts: [] };
    next += 1;
    return answer;
  };
}

/** Registers what to do after the test or the tests. */
export type AtEnd = (work: () => Promise<void>) => void;

export interface TestProject {
  readonly cwd: string;
  readonly launch: AgentLaunch;
  /** The processes of the agent that were started, oldest first. */
  readonly pids: number[];
}

/** Temporary directories for the project, the home of the agent and our own files. */
export async function testProject(
  command: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<TestProject> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'polypod-acp-')));
  atEnd(() => rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  const [cwd, home, directory] = ['project', 'home', 'private'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [cwd, home, directory]) await mkdir(path, { mode: 0o700 });
  const pids: number[] = [];
  const launch: AgentLaunch = {
    command,
    env: { PATH: process.env.PATH ?? '', HOME: home, TERM: 'dumb', ...env },
    trustProject: false,
    directory,
    record: () => ({ started: ({ pid }) => void pids.push(pid), close: () => {} }),
  };
  return { cwd, launch, pids };
}

/** Collects the events of a connection. */
export class Collected {
  readonly events: AgentEvent[] = [];
  end: AgentEnd | undefined;
  #wake = (): void => {};

  readonly callbacks: Pick<ConnectOptions, 'onEvents' | 'onEnd'> = {
    onEvents: (events) => {
      this.events.push(...events);
      this.#wake();
      return Promise.resolve();
    },
    onEnd: (end) => {
      this.end = end;
      this.#wake();
    },
  };

  /** Resolves with the result as soon as there is one. */
  async until<T>(find: (collected: this) => T | undefined): Promise<T> {
    for (;;) {
      const found = find(this);
      if (found !== undefined) return found;
      if (this.end !== undefined)
        throw new Error(`the agent has ended: ${this.end.message}\n${this.end.stderr}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Forgets the events so far. */
  clear(): void {
    this.events.length = 0;
  }

  all<T extends AgentEvent['type']>(type: T): readonly Extract<AgentEvent, { readonly type: T }>[] {
    return this.events.filter(
      (event): event is Extract<AgentEvent, { readonly type: T }> => event.type === type,
    );
  }

  /** Resolves with the nth event of a type, counted from 0. */
  nth<T extends AgentEvent['type']>(type: T, index = 0): Promise<Extract<AgentEvent, { readonly type: T }>> {
    return this.until(() => this.all(type)[index]);
  }

  get text(): string {
    return this.all('text')
      .map(({ text }) => text)
      .join('');
  }
}

export interface Connected extends TestProject {
  readonly connection: AgentConnection;
  readonly collected: Collected;
  readonly sim: Sim;
}

export async function connect(
  program: AgentProgram,
  place: TestProject,
  options: Partial<ConnectOptions> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<{ readonly connection: AgentConnection; readonly collected: Collected }> {
  const collected = new Collected();
  const refuse = (): Promise<never> => Promise.reject(new Error('not allowed'));
  const connection = await program.connect({
    ...place.launch,
    cwd: place.cwd,
    start: { type: 'new' },
    settings: { mode: 'workspace-write', paths: [] },
    mcpServers: [],
    services: { readTextFile: refuse, writeTextFile: refuse, runCommand: refuse },
    ...collected.callbacks,
    ...options,
  });
  atEnd(() => connection.close());
  return { connection, collected };
}

interface StartOptions extends Partial<ConnectOptions> {
  /** Prepares the project before the agent starts. */
  readonly arrange?: (place: TestProject) => Promise<unknown>;
  readonly atEnd?: AtEnd;
}

/** Starts an installed agent with a simulated model. */
export async function startAgent(
  agent: TestedAgent,
  script: (request: SimRequest) => SimAnswer,
  { arrange, atEnd = onTestFinished, ...options }: StartOptions = {},
): Promise<Connected> {
  const place = await projectFor(agent, script, atEnd);
  await arrange?.(place);
  return { ...place, ...(await connect(programOf(agent.name), place, options, atEnd)) };
}

/** A project and a simulated model for an installed agent, which is not started. */
export async function projectFor(
  agent: TestedAgent,
  script: (request: SimRequest) => SimAnswer,
  atEnd: AtEnd = onTestFinished,
): Promise<TestProject & { readonly sim: Sim }> {
  const place = await testProject(agentCommand(agent.name), {}, atEnd);
  const sim = await startSim({ script });
  atEnd(() => sim.close());
  return { ...place, sim, launch: { ...place.launch, env: { ...place.launch.env, ...agent.env(sim.url) } } };
}

/** The bodies of the requests to the model, as text. */
export function bodies({ requests }: Sim): readonly string[] {
  return requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.stringify(body));
}

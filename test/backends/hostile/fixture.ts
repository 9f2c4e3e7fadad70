import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { type ControlLink, remotePod } from '../../../src/control/index.ts';
import { daemonLink } from '../../../src/daemon/index.ts';
import { dataPathsFrom } from '../../../src/setup/index.ts';
import { MAIN } from '../../cli/polypod.ts';
import { Session } from '../contract/fixture.ts';

/** The fields of all answers that the tests use. */
interface ClientResult {
  readonly terminalId: string;
  readonly output: string;
}

/** What `agent.mjs` offers to the code of a prompt. */
export interface HostileAgent {
  readonly sessionId: string;
  readonly send: (message: object) => Promise<void>;
  readonly write: (text: string | Uint8Array) => Promise<void>;
  readonly request: (
    method: string,
    params: object,
    id?: unknown,
  ) => Promise<{
    readonly result: ClientResult;
    readonly error?: { readonly code: number; readonly message: string };
  }>;
  /** Like `request` and `send`, but directly behind the end of the turn. */
  readonly requestLate: HostileAgent['request'];
  readonly sendLate: (message: object) => void;
  readonly ask: (toolCall: object, id?: unknown) => Promise<string>;
  readonly update: (update: object) => Promise<void>;
  readonly say: (text: string) => Promise<void>;
  readonly bash: (callId: string, command: string, more?: object) => object;
  readonly end: (callId: string, more?: object) => Promise<void>;
}

type Prompt = readonly { readonly text: string }[];

/** The code of a prompt. It runs in the agent's process, so it can use nothing but its arguments. */
export function attack<T>(code: (agent: HostileAgent, args: T, prompt: Prompt) => unknown, args?: T): string {
  return JSON.stringify({ code: String(code), args });
}

const AGENT = resolve(import.meta.dirname, 'agent.mjs');

/** Starts the agent; with a fault, it misbehaves instead of answering a request. */
export function agentCommand(...fault: readonly string[]): readonly string[] {
  return [process.execPath, AGENT, ...fault];
}

export interface BackendConfig {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly pass_env?: readonly string[];
}

/** One daemon for all tests of a file, with back ends that run the hostile agent. */
export class HostileDaemon {
  readonly home: string;
  readonly project: string;
  readonly dataDirectory: string;
  readonly env: Readonly<Record<string, string>>;
  #child: ChildProcessWithoutNullStreams | undefined;
  #output = '';
  #link: ControlLink | undefined;

  constructor(
    private readonly backends: Readonly<Record<string, BackendConfig>>,
    env: Readonly<Record<string, string>> = {},
  ) {
    this.home = realpathSync(mkdtempSync(join(tmpdir(), 'polypod-')));
    this.project = join(this.home, 'project');
    this.env = { HOME: this.home, USER: 'ada', ...env };
    this.dataDirectory = dataPathsFrom(this.env).dataDirectory;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Its standard output and error so far. */
  get output(): string {
    return this.#output;
  }

  async start(): Promise<void> {
    mkdirSync(this.project, { recursive: true });
    const config = join(this.home, '.config/polypod');
    mkdirSync(config, { recursive: true });
    const backends = Object.fromEntries(
      Object.entries(this.backends).map(([name, backend]) => [name, { probe: false, ...backend }]),
    );
    // JSON is YAML.
    const text = JSON.stringify({
      version: 1,
      titles: 'off',
      backend: 'hostile',
      backends,
      shutdown_grace: '1s',
    });
    writeFileSync(join(config, 'config.yaml'), text, { mode: 0o600 });
    await this.serve();
  }

  async serve(): Promise<void> {
    const child = spawn(process.execPath, [MAIN, 'serve', '--json'], {
      cwd: this.home,
      env: { PATH: process.env.PATH, OLLAMA_HOST: 'http://127.0.0.1:9', ...this.env },
    });
    this.#child = child;
    this.#output = '';
    await new Promise<void>((ready, reject) => {
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          this.#output += text;
          if (this.#output.includes('{"pid":')) ready();
        });
      child.once('exit', () => reject(new Error(`serve ended: ${this.#output}`)));
    });
    this.#link = await daemonLink(dataPathsFrom(this.env));
  }

  /** Resolves when the daemon has ended. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#link?.close();
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    await ended;
  }

  /** A new session whose work is done by a back end. */
  async session(backend = 'hostile'): Promise<Session> {
    const { id } = await this.link.call('new', { cwd: this.project, backend });
    const session = new Session(this, String(id));
    await session.open();
    return session;
  }

  get link(): ControlLink {
    if (this.#link === undefined) throw new Error('no daemon is up');
    return this.#link;
  }

  readonly pod = async (id: string) => remotePod(id, this.link);

  /** All files in which the daemon reports something: its log, the sessions, the audit. */
  written(): string {
    const names = readdirSync(this.dataDirectory, { recursive: true, withFileTypes: true });
    return names
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
      .join('\n');
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Starts the daemon before the tests of the file. Afterwards it must be alive, and no error may have reached its event loop. */
export function hostileDaemon(
  backends: Readonly<Record<string, BackendConfig>>,
  env?: Readonly<Record<string, string>>,
): HostileDaemon {
  const daemon = new HostileDaemon(backends, env);
  beforeAll(() => daemon.start());
  afterAll(async () => {
    const written = daemon.written();
    await daemon.stop('SIGTERM');
    daemon.remove();
    expect(written).not.toContain('unexpected error');
  });
  return daemon;
}

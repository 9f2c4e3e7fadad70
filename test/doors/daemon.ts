import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { arrayOf, objectOf, stringOf } from '../../src/base/index.ts';
import { controlSocket, dataPathsFrom } from '../../src/setup/index.ts';
import type { PodEvent } from '../../src/pod/index.ts';
import { MAIN } from '../cli/polypod.ts';
import { connectLines, type JsonLine } from './lines.ts';
import { withinTime } from './within-time.ts';

const KEY = 'a-key-for-the-door-matrix';
const LIMITS =
  'requests_per_minute: 100000000, burst: 100000000, streams: 100000000, connections: 100000000, connections_per_address: 100000000';

/** The state of a session. */
export interface State {
  readonly state: string;
  readonly approvals: readonly string[];
  /** The number of queued messages, and of the prompts among them, which start a run by themselves. */
  readonly queue: number;
  readonly prompts: number;
}

/** The built daemon with all doors, in its own home directory. It can be killed and started again. */
export class Daemon {
  readonly home = mkdtempSync(join(tmpdir(), 'polypod-'));
  readonly project = join(this.home, 'project');
  readonly key = KEY;
  readonly env: Readonly<Record<string, string>>;
  readonly #dataPaths: ReturnType<typeof dataPathsFrom>;
  #child: ChildProcess | undefined;
  #stderr = '';
  #url = '';
  /** How often the process was killed. */
  kills = 0;

  /** `configuration` returns further lines of config.yaml. */
  static async start(configuration: (home: string) => string = () => ''): Promise<Daemon> {
    const daemon = new Daemon(configuration);
    await daemon.start();
    return daemon;
  }

  private constructor(configuration: (home: string) => string) {
    mkdirSync(this.project);
    this.env = {
      PATH: process.env.PATH ?? '',
      HOME: this.home,
      USER: 'ada',
      OLLAMA_HOST: 'http://127.0.0.1:9',
      POLYPOD_RUNTIME_DIR: join(this.home, 'run'),
    };
    this.#dataPaths = dataPathsFrom(this.env);
    mkdirSync(join(this.home, '.config/polypod'), { recursive: true });
    writeFileSync(
      this.#dataPaths.configFile,
      `version: 1\nlimits: { runs: 1000 }\ntasks:\n  port: 0\n  directory: ${this.project}\n  keys: [{ env: DOORS_API_KEY, owner: ada, scopes: [admin] }]\n  limits: { ${LIMITS} }\n${configuration(this.home)}`,
      { mode: 0o600 },
    );
  }

  /** The address of the tasks door; it changes with every start. */
  get url(): string {
    return this.#url;
  }

  get control(): string {
    return controlSocket(this.#dataPaths);
  }

  get rpc(): string {
    return join(this.#dataPaths.runtimeDirectory, 'rpc.sock');
  }

  get acp(): string {
    return join(this.#dataPaths.runtimeDirectory, 'acp.sock');
  }

  get hld(): string {
    return join(this.home, '.humanlayer/daemon.sock');
  }

  get isUp(): boolean {
    return this.#child !== undefined;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [MAIN, 'serve', '--offline', '--quiet'], {
      cwd: this.home,
      env: { ...this.env, DOORS_API_KEY: KEY },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-5_000);
    });
    child.on('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
    const status = await withinTime('the daemon is ready', async () => {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the daemon ended with ${child.signalCode ?? child.exitCode}: ${this.#stderr}`);
      const answer = await this.ask('status', {}).catch(() => undefined);
      return answer?.state === 'ready' ? answer : undefined;
    });
    const door = arrayOf(status.doors)
      .map(objectOf)
      .find(({ name }) => name === 'tasks');
    this.#url = stringOf(objectOf(door?.details).url);
  }

  async kill(): Promise<void> {
    this.kills += 1;
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Sends a request to the daemon's own socket. */
  async ask(method: string, params: object): Promise<JsonLine> {
    const link = await connectLines(this.control);
    try {
      link.send({ method, params });
      const line = await link.next((one) => 'result' in one || 'error' in one);
      if (line.error !== undefined) throw new Error(`${method}: ${stringOf(objectOf(line.error).message)}`);
      return objectOf(line.result);
    } finally {
      link.close();
    }
  }

  async newSession(): Promise<string> {
    return stringOf((await this.ask('new', { cwd: this.project })).id);
  }

  /** The number of a session's last event. */
  async lastNumber(pod: string): Promise<number> {
    const snapshot = await this.#snapshot(pod);
    return Number(snapshot.seq);
  }

  async state(pod: string): Promise<State> {
    const { state, approvals, queue } = await this.#snapshot(pod);
    const waiting = arrayOf(queue).map(objectOf);
    return {
      state: stringOf(state),
      approvals: arrayOf(approvals).map((one) => stringOf(objectOf(one).approvalId)),
      queue: waiting.length,
      prompts: waiting.filter(({ lane }) => lane === 'prompt').length,
    };
  }

  /** Denies all pending approvals, without using a door. */
  async decideAll(pod: string): Promise<void> {
    for (const approvalId of (await this.state(pod)).approvals)
      await this.ask('command', {
        pod,
        by: 'ada',
        command: { type: 'decide', approvalId, decision: 'deny' },
      }).catch(
        // Another client decided first.
        () => {},
      );
  }

  /** The numbered log of a session, up to its current end. */
  async log(pod: string): Promise<readonly PodEvent[]> {
    const last = await this.lastNumber(pod);
    const link = await connectLines(this.control);
    const events: PodEvent[] = [];
    try {
      link.send({ method: 'watch', params: { pod, after: 0 } });
      while ((events.at(-1)?.seq ?? 0) < last) {
        const line = await link.next(() => true);
        if (line.error !== undefined) throw new Error(`watch: ${JSON.stringify(line.error)}`);
        const watched = objectOf(line.watched);
        if (watched.type === 'snapshot') throw new Error('the log no longer has its beginning');
        events.push(...(arrayOf(watched.events) as unknown as PodEvent[]));
      }
    } finally {
      link.close();
    }
    return events;
  }

  /** Opens every session once: the next process that opens a session removes the lock of a killed one. */
  async openAll(): Promise<void> {
    const { sessions } = await this.ask('ls', {});
    for (const session of arrayOf(sessions)) await this.lastNumber(stringOf(objectOf(session).id));
  }

  /** Sockets, locks and records of commands that remain after a stop, and processes that use this home directory. */
  leftovers(): readonly string[] {
    const names = readdirSync(this.home, { recursive: true, withFileTypes: true });
    const files = names
      .filter(
        (entry) =>
          entry.isSocket() || (entry.isFile() && /\.(lock|tmp)(\/|$)|\/commands\//.test(pathOf(entry))),
      )
      .map(pathOf);
    return [...files, ...this.#processes()];
  }

  daemonLog(): string {
    return readFileSync(join(this.#dataPaths.dataDirectory, 'logs/polypod.log'), 'utf8');
  }

  async remove(): Promise<void> {
    await this.#end('SIGKILL');
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  async #snapshot(pod: string): Promise<JsonLine> {
    const link = await connectLines(this.control);
    try {
      link.send({ method: 'watch', params: { pod } });
      const line = await link.next((one) => 'watched' in one || 'error' in one);
      if (line.error !== undefined) throw new Error(`watch: ${JSON.stringify(line.error)}`);
      return objectOf(objectOf(line.watched).snapshot);
    } finally {
      link.close();
    }
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }

  #processes(): readonly string[] {
    const found: string[] = [];
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (Number(pid) === process.pid) continue;
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        if (line.includes(this.home) || readFileSync(`/proc/${pid}/environ`, 'utf8').includes(this.home))
          found.push(`process ${pid}: ${line.slice(0, 200)}`);
      } catch {
        // It has exited, or belongs to another user.
      }
    }
    return found;
  }
}

function pathOf(entry: {
  readonly parentPath?: string;
  readonly path?: string;
  readonly name: string;
}): string {
  return join(entry.parentPath ?? entry.path ?? '', entry.name);
}

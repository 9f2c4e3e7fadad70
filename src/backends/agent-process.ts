import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  agentCommands,
  CALL_MARK_VARIABLE,
  explainStartFailure,
  isSecretVariable,
  messageOf,
  onAbort,
  PolypodError,
  type Redact,
  redactor,
} from '../base/index.ts';
import { Tail } from '../mcp/index.ts';
import { type CommandEntry, findProcess, ProcessTree } from '../tools/index.ts';
import { LineReader } from '../wire/index.ts';
import type { AgentEnd, AgentLaunch, ConnectOptions } from './agent-program.ts';
import { pacedReads, withoutReadAhead } from './paced-reads.ts';

export interface AgentProcessOptions
  extends Pick<AgentLaunch, 'command' | 'env' | 'record'>,
    Pick<ConnectOptions, 'signal'> {
  /** Added to the command. */
  readonly args: readonly string[];
  readonly cwd: string;
  /** Receives the complete lines of one read. The next read waits until the promise resolves. */
  readonly onLines: (lines: readonly string[]) => Promise<void>;
  /** Called once, unless `close` was called first: the program has ended, or `fail` was called. */
  readonly onEnd: (end: AgentEnd) => void;
}

/** The process of an agent that reads and writes one JSON value per line. */
export class AgentProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #tree: ProcessTree;
  readonly #entry: CommandEntry;
  readonly #mark: string;
  readonly #stderr = new Tail(MAX_STDERR);
  readonly #redact: Redact;
  readonly #onEnd: (end: AgentEnd) => void;
  readonly #endNow = (): void => this.#tree.endNow();
  #forgetSignal = (): void => {};
  #isReported = false;
  #closing: Promise<void> | undefined;

  /** Starts the program. Rejects with the reason and the next step if that is not possible. */
  static async start(options: AgentProcessOptions): Promise<AgentProcess> {
    const { command, args, cwd, env, record } = options;
    const [program, ...first] = command;
    // Every process that the agent starts inherits the mark, so that it can be found and ended.
    const mark = randomUUID();
    const entry = record({ mark, command: program, pipes: [] });
    const marks = [env[CALL_MARK_VARIABLE], mark].filter(Boolean).join(',');
    const child = withoutReadAhead(() =>
      spawn(program, [...first, ...args], {
        cwd,
        env: { ...env, [CALL_MARK_VARIABLE]: marks },
        detached: true,
        stdio: 'pipe',
      }),
    );
    try {
      await once(child, 'spawn');
    } catch (thrown) {
      entry.close();
      const { problem, step } = explainStartFailure({ program, cwd, env }, thrown);
      throw new PolypodError('unreachable', `${problem}: ${step}`, { cause: thrown });
    }
    return new AgentProcess(child, mark, entry, options);
  }

  private constructor(
    child: ChildProcessWithoutNullStreams,
    mark: string,
    entry: CommandEntry,
    { env, onLines, onEnd, signal }: AgentProcessOptions,
  ) {
    this.#child = child;
    this.#entry = entry;
    this.#mark = mark;
    this.#onEnd = onEnd;
    const root = child.pid ?? 0;
    this.#tree = new ProcessTree({ root, environment: mark, pipes: [], others: [], wrapper: undefined });
    const { start } = findProcess(root) ?? {};
    if (start !== undefined) entry.started({ pid: root, start });
    // Its processes must not connect to our sockets.
    agentCommands.add({ mark, root });
    this.#redact = redactor(
      Object.entries(env).flatMap(([name, value]) => (isSecretVariable(name, value) ? [value] : [])),
    );
    // If this process exits, the agent must not continue without anyone who watches and approves.
    process.on('exit', this.#endNow);
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#stderr.add(text));
    for (const stream of [child, child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
    void this.#read(onLines);
    if (signal !== undefined) this.#forgetSignal = onAbort(signal, () => this.fail('it was stopped'));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The end of its standard error, without secrets. */
  get stderr(): string {
    return this.#redact(this.#stderr.lines(STDERR_LINES));
  }

  /** Sends a value as one line. Ignored after the program has ended. */
  send(value: object): void {
    const { stdin } = this.#child;
    if (!stdin.writable) return;
    stdin.write(`${JSON.stringify(value)}\n`);
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.fail('it does not read its standard input');
  }

  /** Ends the program because it broke its protocol, and reports it. */
  fail(message: string): void {
    this.#report(message);
    void this.close();
  }

  /** Closes its input, then ends it and all its descendants: by SIGTERM, then by SIGKILL. */
  close(graceMs = CLOSE_GRACE_MS): Promise<void> {
    this.#isReported = true;
    this.#closing ??= this.#end(graceMs);
    return this.#closing;
  }

  async #end(graceMs: number): Promise<void> {
    this.#forgetSignal();
    this.#child.stdin.end();
    await this.#tree.end(graceMs);
    for (const stream of this.#child.stdio) stream?.destroy();
    process.off('exit', this.#endNow);
    agentCommands.remove(this.#mark);
    this.#entry.close();
  }

  async #read(onLines: AgentProcessOptions['onLines']): Promise<void> {
    const reader = new LineReader({ limit: { maxBytes: MAX_LINE_BYTES } });
    let ending: string | undefined;
    const exited = new Promise<string>((resolve) => {
      this.#child.once('exit', (code, signal) => {
        ending = signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`;
        resolve(ending);
        // A process that it has left behind may hold the stream open.
        setTimeout(() => this.#child.stdout.destroy(), LAST_OUTPUT_MS).unref();
      });
    });
    try {
      for await (const bytes of pacedReads(this.#child.stdout)) {
        const lines = reader.push(bytes);
        if (lines.length > 0) await onLines(lines);
      }
      const rest = reader.end();
      if (rest.length > 0) await onLines(rest);
    } catch (thrown) {
      this.fail(ending ?? messageOf(thrown));
      return;
    }
    const closed = sleep(LAST_OUTPUT_MS, 'it closed its standard output', { ref: false });
    // It may still run, or processes that it started may be left.
    this.fail(await Promise.race([exited, closed]));
  }

  #report(message: string): void {
    if (this.#isReported) return;
    this.#isReported = true;
    this.#onEnd({ message, stderr: this.stderr });
  }
}

/** How long the output of a program is read after its end. */
const LAST_OUTPUT_MS = 1_000;
const MAX_STDERR = 16_384;
const STDERR_LINES = 20;
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Prompts with images have a few megabytes. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** An agent that ends by itself saves its session first. */
const CLOSE_GRACE_MS = 1_500;

import { resolve } from 'node:path';
import {
  arrayOf,
  asPolypodError,
  isObject,
  type JsonObject,
  messageOf,
  numberOf,
  objectOf,
  PolypodError,
  stringOf,
  systemCodeOf,
} from '../../base/index.ts';
import { RPC_CODES, type RpcError } from '../../wire/index.ts';
import type { AgentServices, ServiceCommandEnd } from '../agent-program.ts';
import { quoteWord, unwrapShell } from './calls.ts';
import { keyOf } from './step.ts';

interface Terminal {
  readonly controller: AbortController;
  readonly maxBytes: number;
  output: string;
  isTruncated: boolean;
  end: ServiceCommandEnd | undefined;
  ended: Promise<void>;
}

/** Reads and writes files and runs commands for the agent, under our policy. */
export class ClientRequests {
  readonly #services: AgentServices;
  readonly #cwd: string;
  readonly #running = new Map<string, AbortController>();
  readonly #terminals = new Map<string, Terminal>();
  #nextTerminal = 1;

  constructor(services: AgentServices, cwd: string) {
    this.#services = services;
    this.#cwd = cwd;
  }

  /** Resolves with the result; rejects with the reason. */
  async serve(id: unknown, method: string, params: JsonObject): Promise<object> {
    if (this.#running.size >= MAX_REQUESTS)
      throw new PolypodError('overloaded', `at most ${MAX_REQUESTS} requests can be open`);
    const key = keyOf(id);
    const controller = new AbortController();
    this.#running.set(key, controller);
    try {
      return await this.#serve(method, params, controller.signal);
    } finally {
      this.#running.delete(key);
    }
  }

  /** The agent has withdrawn a request. */
  abort(id: unknown): void {
    this.#running.get(keyOf(id))?.abort();
  }

  /** Ends everything that runs: the turn or the agent has ended. */
  abortAll(): void {
    for (const controller of this.#running.values()) controller.abort();
    for (const { controller } of this.#terminals.values()) controller.abort();
  }

  async #serve(method: string, params: JsonObject, signal: AbortSignal): Promise<object> {
    switch (method) {
      case 'fs/read_text_file':
        return { content: lines(await this.#services.readTextFile(this.#path(params), signal), params) };
      case 'fs/write_text_file':
        await this.#services.writeTextFile(this.#path(params), stringOf(params.content), signal);
        return {};
      case 'terminal/create':
        return this.#create(params);
      case 'terminal/output':
        return outputOf(this.#terminal(params));
      case 'terminal/wait_for_exit': {
        const terminal = this.#terminal(params);
        await terminal.ended;
        return exitOf(terminal);
      }
      case 'terminal/kill':
        this.#terminal(params).controller.abort();
        return {};
      default:
        this.#terminal(params).controller.abort();
        this.#terminals.delete(stringOf(params.terminalId));
        return {};
    }
  }

  #path({ path }: JsonObject): string {
    if (typeof path !== 'string' || path === '') throw new PolypodError('bad-request', 'path is missing');
    return resolve(this.#cwd, path);
  }

  #terminal({ terminalId }: JsonObject): Terminal {
    const terminal = this.#terminals.get(stringOf(terminalId));
    if (terminal === undefined)
      throw new PolypodError('not-found', `there is no terminal ${stringOf(terminalId)}`);
    return terminal;
  }

  #create(params: JsonObject): object {
    if (this.#terminals.size >= MAX_TERMINALS)
      throw new PolypodError(
        'overloaded',
        `at most ${MAX_TERMINALS} terminals can be open: release others first`,
      );
    const command = commandLine(params);
    const cwd = resolve(this.#cwd, stringOf(params.cwd));
    const controller = new AbortController();
    const terminal: Terminal = {
      controller,
      maxBytes: Math.min(numberOf(params.outputByteLimit) ?? MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES),
      output: '',
      isTruncated: false,
      end: undefined,
      ended: Promise.resolve(),
    };
    const onOutput = (text: string): void => append(terminal, text);
    terminal.ended = this.#services.runCommand({ command, cwd, onOutput }, controller.signal).then(
      (end) => {
        terminal.end = end;
        terminal.output = '';
        append(terminal, end.output);
      },
      (thrown: unknown) => {
        append(terminal, `${messageOf(thrown)}\n`);
        terminal.end = { output: terminal.output, exitCode: CANNOT_RUN };
      },
    );
    const terminalId = `terminal-${this.#nextTerminal}`;
    this.#nextTerminal += 1;
    this.#terminals.set(terminalId, terminal);
    return { terminalId };
  }
}

/** The exit code of shells for a command that cannot be run. */
const CANNOT_RUN = 126;
const MAX_REQUESTS = 100;
const MAX_TERMINALS = 32;
const MAX_OUTPUT_BYTES = 1024 * 1024;

function commandLine(params: JsonObject): string {
  const command = stringOf(params.command);
  if (command === '') throw new PolypodError('bad-request', 'command is missing');
  const args = arrayOf(params.args).map(String);
  // Without arguments, agents send a complete command line.
  const line = args.length === 0 ? command : unwrapShell([command, ...args]);
  const variables = arrayOf(params.env)
    .map(objectOf)
    .filter(({ name }) => /^[A-Za-z_]\w*$/.test(stringOf(name)))
    .map(({ name, value }) => `export ${stringOf(name)}=${quoteWord(stringOf(value))}; `);
  return `${variables.join('')}${line}`;
}

/** Keeps the end of the output, as the protocol requires. */
function append(terminal: Terminal, text: string): void {
  const output = terminal.output + text;
  const bytes = Buffer.byteLength(output);
  if (bytes > terminal.maxBytes) {
    terminal.isTruncated = true;
    const kept = Buffer.from(output).subarray(bytes - terminal.maxBytes);
    // The first character may be cut.
    const start = kept.findIndex((byte) => (byte & 0xc0) !== 0x80);
    terminal.output = kept.subarray(Math.max(0, start)).toString('utf8');
  } else terminal.output = output;
}

function outputOf(terminal: Terminal): object {
  const { output, isTruncated, end } = terminal;
  return { output, truncated: isTruncated, ...(end !== undefined && { exitStatus: exitOf(terminal) }) };
}

function exitOf({ end }: Terminal): object {
  const exitCode = end?.exitCode ?? null;
  return { exitCode, signal: exitCode === null ? 'SIGKILL' : null };
}

/** The requested lines of a text; `line` counts from 1. */
function lines(text: string, { line, limit }: JsonObject): string {
  const first = Math.max(1, numberOf(line) ?? 1);
  const count = numberOf(limit);
  if (first === 1 && count === undefined) return text;
  const all = text.split(/(?<=\n)/);
  return all.slice(first - 1, count === undefined ? undefined : first - 1 + count).join('');
}

const RESOURCE_NOT_FOUND = -32002;

/** The error answer for a request that was not served. */
export function clientError(thrown: unknown, params: JsonObject): RpcError {
  const { code, message } = asPolypodError(thrown);
  const isMissing = code === 'not-found' || systemCodeOf(thrown) === 'ENOENT';
  if (isMissing)
    return {
      code: RESOURCE_NOT_FOUND,
      message,
      ...(typeof params.path === 'string' && { data: { uri: params.path } }),
    };
  const isInvalid = code === 'bad-request';
  return { code: isInvalid ? RPC_CODES.invalidParams : RPC_CODES.internalError, message };
}

/** Whether the agent was told that it may send this request. */
export function isDeclared(method: string, capabilities: JsonObject): boolean {
  const files = objectOf(capabilities.fs);
  if (method === 'fs/read_text_file') return files.readTextFile === true;
  if (method === 'fs/write_text_file') return files.writeTextFile === true;
  return isObject(capabilities) && capabilities.terminal === true;
}

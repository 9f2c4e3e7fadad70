import type { MessagePort, Worker } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import type { ValidationError } from './problem-text.ts';
import { THREAD_PROGRAM } from './thread-program.ts';

export interface ThreadRequest {
  /** The module of ajv that implements the dialect of JSON Schema. */
  readonly dialect: string;
  /** As JSON. */
  readonly schema: string;
  /** As JSON. Without it, the schema is only compiled. */
  readonly value?: string;
}

export type ThreadAnswer =
  /** The errors of the value or, if the request had none, of the schema. */
  | { readonly type: 'checked'; readonly errors: readonly ValidationError[] }
  /** The schema cannot be compiled or used. */
  | { readonly type: 'failed'; readonly message: string; readonly missingRef?: string }
  | { readonly type: 'timed-out' }
  /** There is no thread. */
  | { readonly type: 'unavailable'; readonly message: string };

/**
 * Sends a request to the validator thread and waits for the answer, at most for the time limit. Schemas and values come from
 * outside, and some take practically forever: a pattern that backtracks, references that double at each level. Only another
 * thread can be interrupted: `node:vm` has a timeout, but ends the whole process if it finds no free file descriptor.
 */
export function askThread(request: ThreadRequest): ThreadAnswer {
  try {
    current ??= new ValidatorThread();
  } catch (thrown) {
    return { type: 'unavailable', message: messageOf(thrown) };
  }
  const answer = current.ask(request);
  if (answer.type === 'timed-out' || answer.type === 'unavailable') {
    current.end();
    current = undefined;
  }
  return answer;
}

/** How long a request may take. The event loop waits for it. */
export const TIME_LIMIT_MS = 1_000;

let current: ValidatorThread | undefined;

/** A thread with its own heap. The modules are loaded on first use: most processes never validate against a foreign schema. */
class ValidatorThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #receive: (port: MessagePort) => { readonly message: ThreadAnswer } | undefined;
  /** Counts the answers of the thread. */
  readonly #signal = new Int32Array(new SharedArrayBuffer(4));
  #received = 0;
  /** The dialects whose classes the thread has loaded. Loading is not limited to the time of a request. */
  readonly #loaded = new Set<string>();

  constructor() {
    requireDescriptors();
    const { MessageChannel, receiveMessageOnPort, Worker } = process.getBuiltinModule('node:worker_threads');
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#receive = receiveMessageOnPort;
    this.#worker = new Worker(THREAD_PROGRAM, {
      eval: true,
      workerData: { port: port2, signal: this.#signal, from: import.meta.url, limits: LIMITS },
      transferList: [port2],
      // Inherits nothing from this process.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    this.#worker.unref();
    // An error also ends the thread.
    this.#worker.on('error', () => {});
    // The next request must not wait for a thread that ended without one.
    this.#worker.on('exit', () => {
      if (current === this) current = undefined;
    });
  }

  ask(request: ThreadRequest): ThreadAnswer {
    const { dialect } = request;
    if (!this.#loaded.has(dialect)) {
      const answer = this.#answer({ dialect, schema: '{}' }, START_LIMIT_MS);
      if (answer?.type !== 'checked') return { type: 'unavailable', message: NOT_STARTED };
      this.#loaded.add(dialect);
    }
    return this.#answer(request, TIME_LIMIT_MS) ?? { type: 'timed-out' };
  }

  end(): void {
    this.#port.close();
    void this.#worker.terminate();
  }

  /** Returns undefined at the time limit. */
  #answer(request: ThreadRequest, limitMs: number): ThreadAnswer | undefined {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#port.postMessage(request);
    if (Atomics.wait(this.#signal, 0, this.#received, limitMs) === 'timed-out') return undefined;
    this.#received += 1;
    return this.#receive(this.#port)?.message;
  }
}

/** Throws if too few file descriptors are free: the thread would not start, and the first request would wait for it. */
function requireDescriptors(): void {
  const { closeSync, openSync } = process.getBuiltinModule('node:fs');
  const opened: number[] = [];
  try {
    while (opened.length < DESCRIPTORS) opened.push(openSync('/dev/null', 'r'));
  } finally {
    opened.forEach(closeSync);
  }
}

/** A thread needs 5: its event loop, and a module that it reads. */
const DESCRIPTORS = 8;

const LIMITS = {
  /** Errors in one answer. */
  errors: 100,
  /** Characters of a path or a key in an error. */
  text: 1_000,
  /** For values with up to this many characters, all errors are found, for longer ones the first. */
  smallValue: 16_384,
  /** Characters of all schemas whose compiled form is cached. */
  cachedCharacters: 1_048_576,
};

/** For the start of the thread and for loading ajv, on a busy machine. */
const START_LIMIT_MS = 10_000;
const NOT_STARTED = `the validator thread did not start within ${START_LIMIT_MS / 1000} s`;

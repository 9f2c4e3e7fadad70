import type { MessagePort, Worker } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import { THREAD_PROGRAM } from './thread-program.ts';

/** The dialects of JSON Schema that the thread knows. draft-06 schemas are valid draft-07 schemas. */
export type Dialect = '2020-12' | '2019-09' | 'draft-07';

export interface ThreadRequest {
  readonly dialect: Dialect;
  /** As JSON. */
  readonly schema: string;
  /** As JSON. Without it, the schema is only compiled. */
  readonly value?: string;
}

/** An error of ajv. */
export interface ValidationError {
  /** A JSON Pointer to the invalid value. */
  readonly instancePath: string;
  readonly schemaPath: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
}

export type ThreadAnswer =
  | { readonly type: 'valid' }
  /** The value is invalid or, if the request had none, the schema. */
  | { readonly type: 'invalid'; readonly errors: readonly ValidationError[] }
  /** The schema cannot be compiled or used. */
  | { readonly type: 'failed'; readonly message: string; readonly missingRef: string | undefined }
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
  readonly #loaded = new Set<Dialect>();

  constructor() {
    requireDescriptors();
    const { MessageChannel, receiveMessageOnPort, Worker } = process.getBuiltinModule('node:worker_threads');
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#receive = receiveMessageOnPort;
    this.#worker = new Worker(THREAD_PROGRAM, {
      eval: true,
      workerData: { port: port2, signal: this.#signal, dialects: dialects(), limits: LIMITS },
      transferList: [port2],
      // Inherits nothing from this process.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    this.#worker.unref();
    // An error also ends the thread.
    this.#worker.on('error', () => {});
    this.#worker.on('exit', () => {
      if (current === this) current = undefined;
    });
  }

  ask(request: ThreadRequest): ThreadAnswer {
    const { dialect } = request;
    if (
      !this.#loaded.has(dialect) &&
      this.#answer({ dialect, schema: '{}' }, START_LIMIT_MS)?.type !== 'valid'
    )
      return {
        type: 'unavailable',
        message: `the validator thread did not start within ${START_LIMIT_MS / 1000} s`,
      };
    this.#loaded.add(dialect);
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

/** The files of ajv, which the thread cannot find itself, because its program has no path. */
function dialects(): Readonly<Record<Dialect, object>> {
  const { resolve } = process.getBuiltinModule('node:module').createRequire(import.meta.url);
  return {
    '2020-12': {
      file: resolve('ajv/dist/2020.js'),
      metaSchema: 'https://json-schema.org/draft/2020-12/schema',
    },
    '2019-09': {
      file: resolve('ajv/dist/2019.js'),
      metaSchema: 'https://json-schema.org/draft/2019-09/schema',
    },
    'draft-07': {
      file: resolve('ajv'),
      metaSchema: 'http://json-schema.org/draft-07/schema',
      options: { ignoreKeywordsWithRef: true },
    },
  };
}

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

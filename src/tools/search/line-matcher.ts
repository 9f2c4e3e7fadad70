import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { arrayOf, messageOf, PolypodError, settlesWithin } from '../../base/index.ts';

/** What to search for in a line. */
export interface LinePattern {
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
}

/** A JavaScript regular expression. */
interface Expression {
  readonly source: string;
  readonly flags: string;
}

/**
 * Finds the lines that match a pattern, in a separate thread: an expression that backtracks endlessly blocks
 * nothing else, and is stopped after a time limit.
 */
export class LineMatcher {
  readonly #worker: Worker;
  readonly #pattern: string;
  readonly #limitMs: number;

  /** Throws `bad-request` for an invalid pattern. */
  constructor({ pattern, literal, ignoreCase }: LinePattern, limitMs = LIMIT_MS) {
    this.#pattern = pattern;
    this.#limitMs = limitMs;
    const workerData = literal
      ? toExpression(escapeText(pattern), ignoreCase)
      : toExpression(pattern, ignoreCase);
    this.#worker = new Worker(MATCHING, {
      eval: true,
      workerData,
      // Inherits nothing from this process.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
  }

  /** Returns the indexes of matching lines for each text. */
  async match(texts: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]> {
    const reply = once(this.#worker, 'message', { signal });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage(texts);
    if (!(await settlesWithin(reply, this.#limitMs))) throw tooSlow(this.#pattern);
    const [found] = await reply;
    return arrayOf(found).map((lines) => arrayOf(lines).map(Number));
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** Converts ripgrep syntax to JavaScript, as far as possible. */
function toExpression(pattern: string, ignoreCase: boolean): Expression {
  const [, options = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
  const source = pattern.replace(/^\(\?[ims]+\)/, '').replaceAll('(?P<', '(?<');
  const flags = ignoreCase || options.includes('i') ? 'i' : '';
  try {
    return compile(source, `${flags}u`);
  } catch {
    // Without `u`, meaningless escapes are accepted, which models often write.
    return compileOrReject(source, flags);
  }
}

function compileOrReject(source: string, flags: string): Expression {
  try {
    return compile(source, flags);
  } catch (thrown) {
    throw new PolypodError('bad-request', messageOf(thrown), { cause: thrown });
  }
}

function compile(source: string, flags: string): Expression {
  return { source: new RegExp(source, flags).source, flags };
}

function escapeText(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function tooSlow(pattern: string): PolypodError {
  const message = `The pattern ${pattern} takes too long: it tries too many ways to match a line. Simplify it, or set literal to true.`;
  return new PolypodError('tool-failed', message);
}

/** The program of the thread. Only the beginning of a line is searched: nobody reads further. */
const MATCHING = `
const { parentPort, workerData } = require('node:worker_threads');
const expression = new RegExp(workerData.source, workerData.flags);
parentPort.on('message', (texts) => {
  parentPort.postMessage(texts.map((text) => {
    const found = [];
    for (let line = 0, start = 0; start < text.length; line += 1) {
      const lineFeed = text.indexOf('\\n', start);
      const end = lineFeed === -1 ? text.length : lineFeed;
      const stop = text[end - 1] === '\\r' && end > start ? end - 1 : end;
      if (expression.test(text.slice(start, Math.min(stop, start + 20000)))) found.push(line);
      start = end + 1;
    }
    return found;
  }));
});
`;
const LIMIT_MS = 2_000;

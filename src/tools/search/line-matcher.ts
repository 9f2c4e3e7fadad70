import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { arrayOf, messageOf, PolypodError, settlesWithin } from '../../base/index.ts';

/** What to look for in a line. */
export interface LinePattern {
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
}

/** A regular expression in JavaScript's spelling. */
interface Expression {
  readonly source: string;
  readonly flags: string;
}

/**
 * Tells in which lines a pattern is. It does so in a thread of its own: an expression that backtracks without end holds
 * up nobody else, and is given up when its time is over.
 */
export class LineMatcher {
  readonly #worker: Worker;
  readonly #pattern: string;
  readonly #limitMs: number;

  /** Throws `bad-request` for a pattern that cannot be read. */
  constructor({ pattern, literal, ignoreCase }: LinePattern, limitMs = LIMIT_MS) {
    this.#pattern = pattern;
    this.#limitMs = limitMs;
    const workerData = literal
      ? expressionOf(escaped(pattern), ignoreCase)
      : expressionOf(pattern, ignoreCase);
    this.#worker = new Worker(MATCHING, {
      eval: true,
      workerData,
      // Nothing of the process around it, whatever it was started with.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
  }

  /** The indexes of the lines with a match, for each text. */
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

/** The pattern as ripgrep reads it, as far as JavaScript can say the same. */
function expressionOf(pattern: string, ignoreCase: boolean): Expression {
  const [, options = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
  const source = pattern.replace(/^\(\?[ims]+\)/, '').replaceAll('(?P<', '(?<');
  const flags = ignoreCase || options.includes('i') ? 'i' : '';
  try {
    return checked(source, `${flags}u`);
  } catch {
    // Without `u` it forgives escapes that mean nothing, which models like to write.
    return checkedOrRefused(source, flags);
  }
}

function checkedOrRefused(source: string, flags: string): Expression {
  try {
    return checked(source, flags);
  } catch (thrown) {
    throw new PolypodError('bad-request', messageOf(thrown), { cause: thrown });
  }
}

function checked(source: string, flags: string): Expression {
  return { source: new RegExp(source, flags).source, flags };
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function tooSlow(pattern: string): PolypodError {
  const why = `The pattern ${pattern} takes too long: it tries too many ways to match a line. Make it simpler, or set literal to true.`;
  return new PolypodError('tool-failed', why);
}

/** The thread's program. Of a line only the beginning is searched: nobody reads further. */
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

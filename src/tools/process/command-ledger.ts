import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  isObject,
  type JsonObject,
  numberOf,
  parseObject,
  objectOf,
  stringOf,
  tryOrUndefined,
  namesIn,
} from '../../base/index.ts';

/** A command that was started and may still run. */
export interface CommandRecord {
  readonly mark: string;
  readonly podId: string;
  readonly callId: string;
  /** For display. */
  readonly command: string;
  /** The process that started it, in the format of the ledger's creator. */
  readonly owner: JsonObject;
  /** The process that was started for it, with its start time; missing if the owner died before it knew. */
  readonly root: { readonly pid: number; readonly start: number } | undefined;
  /** Parts of the names of its output pipes. */
  readonly pipes: readonly string[];
  /** Set after another process than its owner ended its processes. */
  readonly ended: readonly string[] | undefined;
}

/** The record of a running command. */
export interface CommandEntry {
  readonly started: (root: { readonly pid: number; readonly start: number }) => void;
  /** Called when all of its processes have ended. */
  readonly close: () => void;
}

/**
 * Records on disk which commands run, one file each, so that a later process finds what a killed one left
 * behind. The files are not synced: no command survives a power failure.
 */
export class CommandLedger {
  readonly #directory: string;
  readonly #owner: JsonObject;

  constructor(directory: string, owner: JsonObject) {
    this.#directory = directory;
    this.#owner = owner;
  }

  open(
    { podId, callId }: { readonly podId: string; readonly callId: string },
    { mark, command, pipes }: Pick<CommandRecord, 'mark' | 'command' | 'pipes'>,
  ): CommandEntry {
    const record = {
      mark,
      podId,
      callId,
      command,
      owner: this.#owner,
      root: undefined,
      pipes,
      ended: undefined,
    };
    this.#write(record);
    return {
      started: (root) => this.#write({ ...record, root }),
      close: () => this.remove(record),
    };
  }

  all(): readonly CommandRecord[] {
    return namesIn(this.#directory).flatMap((name) => {
      const record = name.endsWith('.json') ? parseRecord(readText(join(this.#directory, name))) : undefined;
      return record === undefined ? [] : [record];
    });
  }

  saveEnded(record: CommandRecord, ended: readonly string[]): void {
    this.#write({ ...record, ended });
    renameSync(this.#file(record.mark), this.#endedFile(record.mark));
  }

  remove({ mark }: Pick<CommandRecord, 'mark'>): void {
    rmSync(this.#file(mark), { force: true });
    rmSync(this.#endedFile(mark), { force: true });
  }

  /** Removes records kept for sessions that have not been opened since. */
  removeEndedBefore(time: number): void {
    for (const name of namesIn(this.#directory)) {
      const file = join(this.#directory, name);
      const found = name.endsWith(ENDED) ? statSync(file, { throwIfNoEntry: false }) : undefined;
      if (found !== undefined && found.mtimeMs < time) rmSync(file, { force: true });
    }
  }

  #write(record: CommandRecord): void {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const file = this.#file(record.mark);
    // Atomic: a reader sees the old record or the new one.
    writeFileSync(`${file}.new`, JSON.stringify({ version: 1, ...record }), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  #endedFile(mark: string): string {
    return join(this.#directory, `${mark}${ENDED}`);
  }

  #file(mark: string): string {
    return join(this.#directory, `${mark}.json`);
  }
}

/** The suffix of a record whose command was ended by another process than its owner. */
const ENDED = '.ended.json';

function parseRecord(text: string): CommandRecord | undefined {
  const { version, mark, podId, callId, command, owner, root, pipes, ended } = parseObject(text) ?? {};
  if (version !== 1 || !isMark(mark)) return undefined;
  const { pid, start } = objectOf(root);
  return {
    mark,
    podId: stringOf(podId),
    callId: stringOf(callId),
    command: stringOf(command),
    owner: objectOf(owner),
    root: isObject(root) ? { pid: numberOf(pid) ?? 0, start: numberOf(start) ?? 0 } : undefined,
    pipes: parseTexts(pipes),
    ended: Array.isArray(ended) ? parseTexts(ended) : undefined,
  };
}

/** A file that someone else wrote must not make us end processes by a text that many have. */
function isMark(mark: unknown): mark is string {
  return typeof mark === 'string' && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(mark);
}

function parseTexts(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((text): text is string => typeof text === 'string') : [];
}

function readText(file: string): string {
  // It was closed meanwhile.
  return tryOrUndefined(() => readFileSync(file, 'utf8')) ?? '';
}

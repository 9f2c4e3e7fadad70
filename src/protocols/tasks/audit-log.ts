import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { type JsonObject, type Log, messageOf } from '../../base/index.ts';

/** Who did what to what, and what was decided about it. */
export interface AuditEntry {
  readonly requestId: string;
  readonly remote: string;
  /** Absent for one that had no good key. */
  readonly actor?: string | undefined;
  readonly keyId?: string | undefined;
  readonly action: string;
  readonly target?: string | undefined;
  /** `allowed`, or the word of the refusal. */
  readonly policyResult: string;
  readonly result?: string | undefined;
  readonly approvedBy?: string | undefined;
}

/** Lines of JSON in a file that is only ever added to, for its owner's eyes. What comes in one turn of the loop is one write. */
export class AuditLog {
  readonly #handle: FileHandle;
  readonly #log: Log;
  #lines: string[] = [];
  #written: Promise<void> | undefined;

  static async open(file: string, log: Log): Promise<AuditLog> {
    return new AuditLog(await open(file, 'a', 0o600), log);
  }

  private constructor(handle: FileHandle, log: Log) {
    this.#handle = handle;
    this.#log = log;
  }

  write(entry: AuditEntry): void {
    const line: JsonObject = { time: new Date().toISOString(), ...entry };
    this.#lines.push(JSON.stringify(line));
    this.#written ??= this.#writeAll();
  }

  async close(): Promise<void> {
    await this.#written;
    await this.#handle.close();
  }

  /** Also what comes while it writes. */
  async #writeAll(): Promise<void> {
    await setImmediate();
    while (this.#lines.length > 0) {
      const lines = this.#lines;
      this.#lines = [];
      try {
        await this.#handle.appendFile(`${lines.join('\n')}\n`);
      } catch (thrown) {
        this.#log.error('the audit log cannot be written', { reason: messageOf(thrown), lines });
      }
    }
    this.#written = undefined;
  }
}

import { appendFileSync, closeSync, openSync } from 'node:fs';
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
  readonly #log: Log;
  /** Undefined once it is closed: by then the number may be another file's. */
  #descriptor: number | undefined;
  #lines: string[] = [];
  #due: NodeJS.Immediate | undefined;

  constructor(file: string, log: Log) {
    this.#descriptor = openSync(file, 'a', 0o600);
    this.#log = log;
  }

  write(entry: AuditEntry): void {
    const line: JsonObject = { time: new Date().toISOString(), ...entry };
    this.#lines.push(JSON.stringify(line));
    this.#due ??= setImmediate(() => this.#flush());
  }

  /** With what is left to write. */
  close(): void {
    clearImmediate(this.#due);
    this.#flush();
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #flush(): void {
    const lines = this.#lines;
    this.#lines = [];
    this.#due = undefined;
    if (lines.length === 0 || this.#descriptor === undefined) return;
    try {
      appendFileSync(this.#descriptor, `${lines.join('\n')}\n`);
    } catch (thrown) {
      this.#log.error('the audit log cannot be written', { reason: messageOf(thrown), lines });
    }
  }
}

import { createHash } from 'node:crypto';
import { isObject, type JsonObject, PolypodError } from '../base/index.ts';
import type { Caller, PodCommand, Receipt } from './command.ts';
import { field } from './session/index.ts';

/**
 * The receipt of an accepted command with an idempotency key. It is recorded on the command's entry, so that both survive a crash
 * or neither.
 */
export interface RecordedReceipt {
  readonly key: string;
  readonly by: string;
  readonly digest: string;
  readonly at: string;
  readonly receipt: JsonObject;
}

const RETENTION_MS = 24 * 60 * 60 * 1000;
const MAX_RECEIPTS = 10_000;

/** An idempotency key was used again with another command. */
export class KeyReused extends PolypodError {
  constructor(message: string) {
    super('conflict', message);
  }
}

/** The receipts of accepted commands by idempotency key. Each caller has its own keys. */
export class Receipts {
  readonly #recorded = new Map<string, RecordedReceipt>();
  readonly #inProgress = new Map<string, { readonly digest: string; readonly receipt: Promise<Receipt> }>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /**
   * Performs a command once. The same key with the same command returns the same receipt, also while the first is in progress.
   * The same key with another command is rejected. A rejected command may be sent again.
   */
  async once(
    command: PodCommand,
    caller: Caller,
    perform: (recordReceipt: (receipt: Receipt) => RecordedReceipt | undefined) => Promise<Receipt>,
  ): Promise<Receipt> {
    const { key, by } = caller;
    if (key === undefined) return perform(() => undefined);
    const name = nameOf(key, by);
    const digest = digestOf(command);
    // Checked first: a receipt is recorded before it is on disk, and must not be returned before that.
    const before = this.#inProgress.get(name);
    if (before !== undefined) {
      if (before.digest !== digest) throw otherCommand(key);
      return before.receipt;
    }
    const known = this.#recorded.get(name);
    if (known !== undefined && !this.#isOld(known)) {
      if (known.digest !== digest) throw otherCommand(key);
      const receipt = readReceipt(known.receipt);
      if (receipt !== undefined) return receipt;
    }
    const receipt = perform((given) => {
      const recorded = { key, by, digest, at: this.#now().toISOString(), receipt: { ...given } };
      this.add(recorded);
      return recorded;
    });
    this.#inProgress.set(name, { digest, receipt });
    try {
      return await receipt;
    } finally {
      this.#inProgress.delete(name);
    }
  }

  add(recorded: RecordedReceipt): void {
    this.#recorded.set(nameOf(recorded.key, recorded.by), recorded);
    if (this.#recorded.size > MAX_RECEIPTS) this.#forget();
  }

  /** All receipts that have not expired. */
  all(): readonly RecordedReceipt[] {
    return [...this.#recorded.values()].filter((recorded) => !this.#isOld(recorded));
  }

  #forget(): void {
    for (const [name, recorded] of this.#recorded) {
      if (this.#recorded.size <= MAX_RECEIPTS && !this.#isOld(recorded)) return;
      this.#recorded.delete(name);
    }
  }

  #isOld({ at }: RecordedReceipt): boolean {
    return this.#now().getTime() - Date.parse(at) > RETENTION_MS;
  }
}

const RECORDED_RECEIPT = field.record(
  { key: field.text, by: field.text, digest: field.text, at: field.text, receipt: field.object },
  {},
);

/** Reads a recorded receipt. */
export function readRecordedReceipt(value: unknown): RecordedReceipt | undefined {
  return RECORDED_RECEIPT(value);
}

const RECEIPT = field.record(
  { seq: field.amount },
  {
    runId: field.text,
    queueId: field.text,
    approvalId: field.text,
    shellId: field.text,
    entryId: field.text,
  },
);

function readReceipt(value: JsonObject): Receipt | undefined {
  const read = RECEIPT(value);
  return read && { accepted: true, ...read };
}

function nameOf(key: string, by: string): string {
  return JSON.stringify([by, key]);
}

/** The digest is independent of the order of the fields. */
function digestOf(command: PodCommand): string {
  return createHash('sha256').update(JSON.stringify(command, sortedKeys)).digest('base64url');
}

function sortedKeys(_: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function otherCommand(key: string): PolypodError {
  return new KeyReused(
    `the idempotency key ${JSON.stringify(key)} was used for another command: use a new key for each command`,
  );
}

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

const KEPT_MS = 24 * 60 * 60 * 1000;
const MOST_KEPT = 10_000;

/** An idempotency key was used again with another command. */
export class KeyReused extends PolypodError {
  constructor(message: string) {
    super('conflict', message);
  }
}

/** The receipts of accepted commands by idempotency key. Each caller has its own keys. */
export class Receipts {
  readonly #signed = new Map<string, RecordedReceipt>();
  readonly #underWay = new Map<string, { readonly digest: string; readonly receipt: Promise<Receipt> }>();
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
    perform: (sign: (receipt: Receipt) => RecordedReceipt | undefined) => Promise<Receipt>,
  ): Promise<Receipt> {
    const { key, by } = caller;
    if (key === undefined) return perform(() => undefined);
    const name = nameOf(key, by);
    const digest = digestOf(command);
    // Checked first: a receipt is recorded before it is on disk, and must not be returned before that.
    const before = this.#underWay.get(name);
    if (before !== undefined) {
      if (before.digest !== digest) throw otherCommand(key);
      return before.receipt;
    }
    const known = this.#signed.get(name);
    if (known !== undefined && !this.#isOld(known)) {
      if (known.digest !== digest) throw otherCommand(key);
      const receipt = readReceipt(known.receipt);
      if (receipt !== undefined) return receipt;
    }
    const receipt = perform((given) => {
      const signed = { key, by, digest, at: this.#now().toISOString(), receipt: { ...given } };
      this.add(signed);
      return signed;
    });
    this.#underWay.set(name, { digest, receipt });
    try {
      return await receipt;
    } finally {
      this.#underWay.delete(name);
    }
  }

  add(signed: RecordedReceipt): void {
    this.#signed.set(nameOf(signed.key, signed.by), signed);
    if (this.#signed.size > MOST_KEPT) this.#forget();
  }

  /** All receipts that have not expired. */
  all(): readonly RecordedReceipt[] {
    return [...this.#signed.values()].filter((signed) => !this.#isOld(signed));
  }

  #forget(): void {
    for (const [name, signed] of this.#signed) {
      if (this.#signed.size <= MOST_KEPT && !this.#isOld(signed)) return;
      this.#signed.delete(name);
    }
  }

  #isOld({ at }: RecordedReceipt): boolean {
    return this.#now().getTime() - Date.parse(at) > KEPT_MS;
  }
}

const SIGNED = field.record(
  { key: field.text, by: field.text, digest: field.text, at: field.text, receipt: field.object },
  {},
);

/** Reads a recorded receipt. */
export function readRecordedReceipt(value: unknown): RecordedReceipt | undefined {
  return SIGNED(value);
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

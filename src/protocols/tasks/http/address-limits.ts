import { networkKey, type Rate, RateTable } from '../../../wire/index.ts';
import type { RequestAudit } from './request-audit.ts';

interface Dropped {
  readonly network: string;
  readonly keyId: string | undefined;
  readonly count: number;
}

/**
 * Limits the requests from an address without a valid key. Beyond the rate they are refused before any other work; the audit log then gets
 * one line per address and interval with their number, instead of one line each.
 */
export class AddressLimits {
  readonly #rate: RateTable;
  readonly #audit: RequestAudit | undefined;
  readonly #unwritten = new Map<string, Dropped>();
  #timer: NodeJS.Timeout | undefined;

  constructor(rate: Rate, audit: RequestAudit | undefined) {
    this.#rate = new RateTable(rate);
    this.#audit = audit;
  }

  /** Seconds until the address may send a request without a valid key; 0 for now. */
  wait(remote: string): number {
    return this.#rate.size === 0 ? 0 : this.#rate.wait(networkKey(remote));
  }

  /** Counts a request without a valid key. Returns whether it was within the rate. */
  count(remote: string): boolean {
    return this.#rate.take(networkKey(remote)) === 0;
  }

  /** Counts a refused request or message that gets no line of its own in the audit log. */
  drop(remote: string, keyId?: string): void {
    const network = networkKey(remote);
    const name = `${network} ${keyId ?? ''}`;
    if (!this.#unwritten.has(name) && this.#unwritten.size >= MOST_NETWORKS) this.#write();
    const count = (this.#unwritten.get(name)?.count ?? 0) + 1;
    this.#unwritten.set(name, { network, keyId, count });
    this.#timer ??= setTimeout(() => this.#write(), WRITE_MS).unref();
  }

  close(): void {
    this.#write();
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { network, keyId, count } of this.#unwritten.values())
      this.#audit?.dropped(network, count, keyId);
    this.#unwritten.clear();
  }
}

const WRITE_MS = 10_000;
const MOST_NETWORKS = 1_000;

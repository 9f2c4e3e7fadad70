import { networkOf, type Rate, RateTable } from '../../wire/index.ts';
import type { RequestAudit } from './request-audit.ts';

/**
 * Counts what comes from an address without a good key. Beyond the rate requests are refused before anything is done for them;
 * the audit log then gets one line per address and interval with their number, not a line each.
 */
export class Refusals {
  readonly #rate: RateTable;
  readonly #audit: RequestAudit | undefined;
  readonly #unwritten = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(rate: Rate, audit: RequestAudit | undefined) {
    this.#rate = new RateTable(rate);
    this.#audit = audit;
  }

  /** Seconds until the address may send a request without a good key; 0 for now. */
  wait(remote: string): number {
    return this.#rate.wait(networkOf(remote));
  }

  /** Counts a request without a good key. Returns whether it was within the rate. */
  count(remote: string): boolean {
    return this.#rate.take(networkOf(remote)) === 0;
  }

  /** Counts a request that was refused without a line of its own in the audit log. */
  drop(remote: string): void {
    const network = networkOf(remote);
    const known = this.#unwritten.get(network);
    if (known === undefined && this.#unwritten.size >= MOST_NETWORKS) this.#write();
    this.#unwritten.set(network, (this.#unwritten.get(network) ?? 0) + 1);
    this.#timer ??= setTimeout(() => this.#write(), WRITE_MS).unref();
  }

  close(): void {
    this.#write();
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [remote, count] of this.#unwritten) this.#audit?.dropped(remote, count);
    this.#unwritten.clear();
  }
}

const WRITE_MS = 10_000;
const MOST_NETWORKS = 1_000;

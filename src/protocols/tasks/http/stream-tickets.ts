import { hash, randomBytes } from 'node:crypto';
import type { KeyRecord } from '../keys/key.ts';

/** The stream that a ticket opens: a route, and the id in its path. */
export interface TicketTarget {
  readonly path: string;
  readonly id: string;
}

export interface Ticket {
  readonly key: KeyRecord;
  readonly target: TicketTarget;
  readonly expiresAt: number;
}

export interface NewTicket {
  readonly ticket: string;
  readonly expiresAt: string;
}

/**
 * Tickets for clients that cannot send headers, such as a browser's `EventSource`. They are part of URLs, which proxies and histories
 * store: each one opens one stream of one agent, once, within a short time, and only while its key is valid.
 */
export class StreamTickets {
  readonly #isGood: (key: KeyRecord) => boolean;
  readonly #lifeMs: number;
  /** By hash, oldest first. */
  readonly #tickets = new Map<string, Ticket>();

  constructor(isGood: (key: KeyRecord) => boolean, lifeMs: number) {
    this.#isGood = isGood;
    this.#lifeMs = lifeMs;
  }

  mint(key: KeyRecord, target: TicketTarget): NewTicket {
    this.#forgetExpired();
    const ticket = `${TICKET_PREFIX}${randomBytes(32).toString('base64url')}`;
    const expiresAt = Date.now() + this.#lifeMs;
    this.#tickets.set(hash('sha256', ticket), { key, target, expiresAt });
    return { ticket, expiresAt: new Date(expiresAt).toISOString() };
  }

  /** Finds a ticket that is valid now. */
  find(text: string): Ticket | undefined {
    const ticket = this.#tickets.get(hash('sha256', text));
    const isValid = ticket !== undefined && ticket.expiresAt > Date.now() && this.#isGood(ticket.key);
    return isValid ? ticket : undefined;
  }

  /** Consumes a ticket. */
  spend(text: string): void {
    this.#tickets.delete(hash('sha256', text));
  }

  #forgetExpired(): void {
    const now = Date.now();
    for (const [name, { expiresAt }] of this.#tickets) {
      if (expiresAt > now) return;
      this.#tickets.delete(name);
    }
  }
}

const TICKET_PREFIX = 'ppt_';

import type { Audit } from '../../../audit/index.ts';

/** Who asked for what over HTTP or WebSocket, and what was decided about it. */
export interface RequestNote {
  /** Made by us. */
  readonly requestId: string;
  /** As the client sent it. */
  readonly clientRequestId?: string | undefined;
  readonly remote: string;
  /** The owner of the key; absent for one that had no good key. */
  readonly actor?: string | undefined;
  readonly keyId?: string | undefined;
  readonly action: string;
  readonly target?: string | undefined;
  /** `allowed`, or the word of the refusal. */
  readonly policyResult: string;
  readonly result?: string | undefined;
}

/** Records the requests of this door in the audit log. */
export class RequestAudit {
  readonly #audit: Audit;

  constructor(audit: Audit) {
    this.#audit = audit;
  }

  write({ actor, policyResult, result, ...rest }: RequestNote): void {
    this.#audit({
      event: policyResult === 'allowed' ? 'request.accepted' : 'request.refused',
      door: 'tasks',
      by: actor,
      ...rest,
      outcome: policyResult,
      ...(result !== undefined && { details: { result } }),
    });
  }

  /** Requests beyond the rate of an address or key, which are only counted. */
  dropped(remote: string, count: number, keyId?: string): void {
    this.#audit({
      event: 'request.refused',
      door: 'tasks',
      remote,
      ...(keyId !== undefined && { keyId }),
      outcome: 'rate_limited',
      count,
    });
  }

  /** A connection that was refused before there was a request. */
  connection(word: string, remote: string): void {
    this.#audit({ event: 'connection.refused', door: 'tasks', remote, outcome: word });
  }
}

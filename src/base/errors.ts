/** The closed list of reasons for which Polypod refuses or fails; every door maps each of them once. */
export type ErrorCode =
  | 'bad-request'
  | 'unknown-method'
  | 'not-found'
  | 'conflict'
  | 'denied'
  | 'overloaded'
  | 'unreachable'
  | 'provider-failed'
  | 'tool-failed'
  | 'internal';

/** The one error class: a code for programs, a sentence with the next step for people. */
export class PolypodError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PolypodError';
    this.code = code;
  }
}

/** Converts a thrown value to a PolypodError. Anything that is not one already is a bug, hence `internal`. */
export function asPolypodError(thrown: unknown): PolypodError {
  if (thrown instanceof PolypodError) return thrown;
  return new PolypodError('internal', messageOf(thrown), { cause: thrown });
}

/** An account cannot be used, such as one without a key. Doors that can offer to sign in recognize it. */
export function unusableAccount(message: string): PolypodError {
  return new PolypodError('bad-request', message, { cause: UNUSABLE_ACCOUNT });
}

export function isUnusableAccount(thrown: unknown): boolean {
  return thrown instanceof PolypodError && thrown.cause === UNUSABLE_ACCOUNT;
}

const UNUSABLE_ACCOUNT = { reason: 'account' };

/** The message of a thrown value. The only place that checks `instanceof Error`. */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  // A failed connection attempt to several addresses has an empty message and the reasons inside.
  if (thrown instanceof AggregateError && thrown.message === '')
    return thrown.errors.map(messageOf).join('; ');
  return thrown.message;
}

/** The `code` of a Node.js system error (`ECONNREFUSED`, `ENOENT`), or of its cause. */
export function systemCodeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const { code, cause } = thrown as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined ? undefined : systemCodeOf(cause);
}

/** Codes of Node.js for a certificate whose authority is unknown: the user may have to add a private authority. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
]);

/** Other reasons to reject a certificate. */
const INVALID: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_REJECTED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_CHAIN_TOO_LONG',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'HOSTNAME_MISMATCH',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_TLS_CERT_OTHER',
]);

/** Whether a system error code says that a certificate was rejected. Retrying does not help. */
export function isCertificateError(code: string | undefined): boolean {
  return code !== undefined && (UNTRUSTED.has(code) || INVALID.has(code));
}

/** Adds the next step to the message about a certificate of an unknown authority. Other messages stay as they are. */
export function withTrustHint(message: string, code: string | undefined): string {
  return code !== undefined && UNTRUSTED.has(code) ? `${message}; ${TRUST_HINT}` : message;
}

const TRUST_HINT =
  'if your company has its own certificate authority, set NODE_EXTRA_CA_CERTS to its PEM file and start polypod (and its daemon) again';

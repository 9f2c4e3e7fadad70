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

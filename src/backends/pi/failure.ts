import { objectOf, parseObject, stringOf, withoutUndefined } from '../../base/index.ts';
import type { Failure, FailureKind } from '../../llm/index.ts';

/** Reads an error message: `529 {"type":"error","error":{…}}`, perhaps after what failed, or any text. */
export function failureFrom(errorMessage: string): Failure {
  const [, what = '', status, rest = errorMessage] =
    /^((?:[^{\n]*: )?)(\d{3})\s+([\s\S]*)$/.exec(errorMessage) ?? [];
  const body = objectOf(parseObject(rest));
  const error = objectOf(body.error ?? body);
  const message = `${what}${stringOf(error.message) || rest}` || 'pi reported an error without a message';
  const code = stringOf(error.type) || stringOf(error.code);
  const httpStatus = status === undefined ? undefined : Number(status);
  return {
    kind: kindOf(httpStatus, `${code} ${message}`),
    message,
    ...withoutUndefined({ code: code || undefined, httpStatus }),
  };
}

function kindOf(status: number | undefined, text: string): FailureKind {
  const [kind] = KINDS.find(([, pattern]) => pattern.test(text)) ?? [];
  if (kind !== undefined) return kind;
  if (status === undefined) return 'provider';
  return STATUSES[status] ?? (status >= 500 ? 'server' : 'provider');
}

/** pi reports failures of all its providers as texts. */
const KINDS: readonly (readonly [FailureKind, RegExp])[] = [
  ['context-too-long', /prompt is too long|context (?:length|window)|maximum context|too many tokens/i],
  ['auth', /no api key|authentication|unauthorized|invalid.*api.?key|\/login/i],
  ['quota', /insufficient_quota|billing|credit balance|usage limit/i],
  ['overloaded', /overloaded/i],
  ['rate-limit', /rate.?limit/i],
  ['unknown-model', /model.*not found|not_found_error.*model/i],
  ['timeout', /timed? ?out/i],
  ['network', /fetch failed|connection error|ECONN|ENOTFOUND|EAI_AGAIN|socket|network/i],
  ['cut-off', /terminated|stream ended|premature|other side closed/i],
];

const STATUSES: Readonly<Record<number, FailureKind>> = {
  400: 'invalid-request',
  401: 'auth',
  402: 'quota',
  403: 'auth',
  404: 'unknown-model',
  408: 'timeout',
  413: 'context-too-long',
  422: 'invalid-request',
  429: 'rate-limit',
  529: 'overloaded',
};

import { PolypodError, stringOf, withoutUndefined } from '../../../base/index.ts';
import { connectionErrorCode, isTlsFailure } from '../../../client/index.ts';
import { httpRefusalFrom } from '../../../wire/index.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import type { Action } from './options.ts';

/** Adds to an error of the agent or the connection what to do about it on this command line. */
export function withNextStep(error: PolypodError, action: Action | undefined): PolypodError {
  const next = nextStep(error, action);
  // The server's text is untrusted.
  const message = sanitizeLine(plainMessage(error).replace(/[\s.]+$/, ''));
  return new PolypodError(error.code, next === undefined ? message : `${message}; ${next}`, {
    cause: error.cause,
  });
}

/** For programs: the same error in the spelling of the tasks API. */
export function errorBody(error: PolypodError): object {
  const { code: word, details } = httpRefusalFrom(error) ?? {};
  const code = word ?? (connectionErrorCode(error) === undefined ? error.code : 'unreachable');
  return { error: { code, message: error.message, ...withoutUndefined({ details }) } };
}

/** Servers name fields of the request; this replaces them with the options of the command. */
function plainMessage(error: PolypodError): string {
  const { field, option } = namedIn(error);
  return option !== undefined && error.message.startsWith(`${field} `)
    ? `${option}${error.message.slice(field.length)}`
    : error.message;
}

function nextStep(error: PolypodError, action: Action | undefined): string | undefined {
  const refusal = httpRefusalFrom(error);
  if (refusal === undefined) return connectionStep(connectionErrorCode(error));
  const { code: word, status } = refusal;
  const { field, option } = namedIn(error);
  if (option !== undefined) return error.message.startsWith(`${field} `) ? undefined : `that is ${option}`;
  // Only a submission has an idempotency key; the server explains a decision that came too late.
  if (word === 'conflict' && action !== 'submit') return undefined;
  return WORDS[word] ?? STATUSES[status];
}

function namedIn(error: PolypodError): { readonly field: string; readonly option: string | undefined } {
  const field = stringOf(httpRefusalFrom(error)?.details?.field);
  return { field, option: optionFor(field) };
}

function connectionStep(code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  if (WAYS[code] !== undefined) return WAYS[code];
  // The other side sent the alert: our certificate is missing or wrong.
  if (/_ALERT_(?:\w*CERTIFICATE|UNKNOWN_CA)/.test(code))
    return 'the agent requires a client certificate: pass --cert and --key, signed by its authority';
  if (isTlsFailure(code))
    return 'pass its certificate with --ca, or check that the address matches the name in the certificate';
  return 'check the address (--url) and that the agent is up';
}

/** The option that sets a field of the request. */
function optionFor(field: string): string | undefined {
  const name = field.replace(/\.\d+$/, '');
  return Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
}

const FIELDS: Readonly<Record<string, string>> = {
  sessionId: '--session',
  userPrompt: 'the prompt',
  taskType: '--type',
  'context.workingDirectory': '--cwd',
  'context.model': '--model',
  'context.permissionMode': '--mode',
  'context.allowedPaths': '--allow-path',
  'context.files': '--file',
  'context.maxTurns': '--max-turns',
  'context.budget': '--budget',
  'Idempotency-Key': '--idempotency-key',
  'Last-Event-ID': '--after',
};

const WORDS: Readonly<Record<string, string>> = {
  unauthorized: 'put the key into POLYPOD_API_KEY, or pass a file with --key-file; polypod keys creates one',
  missing_scope: 'the operator of the agent can create such a key with polypod keys',
  not_found: 'polypod task list shows what this key may see',
  task_over: 'polypod task status shows the result',
  host_not_allowed: 'use the address of the machine in --url',
  conflict: 'use another --idempotency-key for another task',
  body_too_large: 'pass files with --file instead of sending their content',
};

const STATUSES: Readonly<Record<number, string>> = {
  404: 'check that --url is the address of an agent',
  500: 'see the log of the agent',
  502: 'check that the agent is up behind its proxy',
  504: 'check that the agent is up behind its proxy',
};

const NO_TLS = 'the server does not use TLS: write http:// in --url';

const WAYS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: start an agent with polypod agent start, or name another with --url',
  ENOTFOUND: 'check the name in --url',
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
};

import { createSign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  ellipsize,
  messageOf,
  numberOf,
  objectOf,
  parseObject,
  PolypodError,
  stringOf,
  systemCodeOf,
  withTrustHint,
} from '../../base/index.ts';
import type { HttpRequest, Transport } from '../../wire/index.ts';
import { type ExpiringKey, usedUntil } from '../expiring-key.ts';
import type { Credentials, SubjectSource } from './credentials.ts';

interface Exchange {
  readonly transport: Transport;
  readonly signal: AbortSignal;
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const TIMEOUT_MS = 20_000;
/** The metadata server responds at once; outside of Google Cloud there is none. */
const METADATA_TIMEOUT_MS = 3000;
const MAX_BYTES = 256 * 1024;
const LIFETIME_S = 3600;

/** Requests an access token. Errors contain neither credentials nor tokens. */
export async function requestToken(credentials: Credentials, exchange: Exchange): Promise<ExpiringKey> {
  switch (credentials.type) {
    case 'service_account':
      return postForm(credentials.tokenUrl, credentials.source, exchange, {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: assertionOf(credentials),
      });
    case 'authorized_user':
      return postForm(credentials.tokenUrl, credentials.source, exchange, {
        grant_type: 'refresh_token',
        client_id: credentials.clientId,
        client_secret: credentials.clientSecret,
        refresh_token: credentials.refreshToken,
      });
    case 'external_account': {
      const { source, audience, subjectTokenType, tokenUrl, impersonationUrl } = credentials;
      const token = await postForm(tokenUrl, source, exchange, {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        audience,
        scope: SCOPE,
        subject_token_type: subjectTokenType,
        subject_token: await subjectToken(credentials.subject, source, exchange),
      });
      return impersonationUrl === undefined
        ? token
        : impersonate({ impersonationUrl, delegates: undefined, source }, token, exchange);
    }
    case 'impersonated_service_account':
      return impersonate(credentials, await requestToken(credentials.base, exchange), exchange);
    case 'metadata':
      return metadataToken(credentials, exchange);
  }
}

type ServiceAccount = Extract<Credentials, { readonly type: 'service_account' }>;

/** The signed statement that a service account exchanges for a token (RFC 7523). */
function assertionOf({ email, privateKey, keyId, tokenUrl, source }: ServiceAccount): string {
  const now = Math.floor(Date.now() / 1000);
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId !== '' && { kid: keyId }) };
  const claims = { iss: email, scope: SCOPE, aud: tokenUrl, iat: now, exp: now + LIFETIME_S };
  const encoded = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const statement = encoded.join('.');
  try {
    return `${statement}.${createSign('RSA-SHA256').update(statement).sign(privateKey, 'base64url')}`;
  } catch {
    // The cause is left out: it could contain a part of the key.
    throw new PolypodError(
      'bad-request',
      `the private key in ${source} is invalid: download the key of the service account again`,
    );
  }
}

async function subjectToken(
  { file, url, headers, field }: SubjectSource,
  source: string,
  exchange: Exchange,
): Promise<string> {
  const text =
    file === undefined
      ? await textFrom({ method: 'GET', url: url ?? '', headers }, source, exchange)
      : await readFile(file, 'utf8').catch((thrown: unknown) => {
          throw new PolypodError(
            'bad-request',
            `the identity token that ${source} names cannot be read: ${messageOf(thrown)}`,
          );
        });
  const token = field === undefined ? text.trim() : stringOf(parseObject(text)?.[field]);
  if (token !== '') return token;
  throw new PolypodError('bad-request', `${file ?? originOf(url ?? '')} has no identity token`);
}

interface Impersonation {
  readonly impersonationUrl: string;
  readonly delegates: unknown;
  readonly source: string;
}

/** Exchanges a token for one of a service account. */
async function impersonate(
  { impersonationUrl: url, delegates, source }: Impersonation,
  { key }: ExpiringKey,
  exchange: Exchange,
): Promise<ExpiringKey> {
  const text = await textFrom(
    {
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({
        scope: [SCOPE],
        lifetime: `${LIFETIME_S}s`,
        ...(delegates ? { delegates } : {}),
      }),
    },
    source,
    exchange,
  );
  const { accessToken, expireTime } = parseObject(text) ?? {};
  return tokenFrom(stringOf(accessToken), Date.parse(stringOf(expireTime)), url);
}

async function metadataToken(
  { url, source }: { readonly url: string; readonly source: string },
  exchange: Exchange,
): Promise<ExpiringKey> {
  try {
    const text = await textFrom(
      { method: 'GET', url, headers: { 'metadata-flavor': 'Google' } },
      source,
      exchange,
      METADATA_TIMEOUT_MS,
    );
    return parseToken(text, url);
  } catch (thrown) {
    if (!(thrown instanceof PolypodError && thrown.code === 'unreachable')) throw thrown;
    throw new PolypodError(
      'bad-request',
      'there are no Google Cloud credentials: run gcloud auth application-default login, set GOOGLE_APPLICATION_CREDENTIALS to a credentials file, or add key_command: [gcloud, auth, print-access-token] to the account',
      { cause: thrown },
    );
  }
}

async function postForm(
  url: string,
  source: string,
  exchange: Exchange,
  fields: Readonly<Record<string, string>>,
): Promise<ExpiringKey> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams(fields).toString();
  return parseToken(await textFrom({ method: 'POST', url, headers, body }, source, exchange), url);
}

function parseToken(text: string, url: string): ExpiringKey {
  const { access_token, expires_in } = parseObject(text) ?? {};
  return tokenFrom(stringOf(access_token), Date.now() + (numberOf(expires_in) ?? LIFETIME_S) * 1000, url);
}

function tokenFrom(key: string, expiresAt: number, url: string): ExpiringKey {
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new PolypodError('bad-request', `${originOf(url)} answered without a token: check the address`);
  const now = Date.now();
  return { key, expiresAt: usedUntil(Number.isNaN(expiresAt) ? now + LIFETIME_S * 1000 : expiresAt, now) };
}

/** Sends a request and returns the text of a successful answer. */
async function textFrom(
  request: HttpRequest,
  source: string,
  { transport, signal }: Exchange,
  timeoutMs = TIMEOUT_MS,
): Promise<string> {
  const origin = originOf(request.url);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  let status = 0;
  let text = '';
  try {
    const response = await transport(request, { signal: limited, onOpen: () => {} });
    ({ status } = response);
    const pieces: Uint8Array[] = [];
    let length = 0;
    for await (const piece of response.body) {
      pieces.push(piece);
      length += piece.length;
      if (length > MAX_BYTES) break;
    }
    text = Buffer.concat(pieces).toString('utf8');
  } catch (thrown) {
    const reason = limited.aborted
      ? `no answer within ${timeoutMs / 1000} s`
      : withTrustHint(messageOf(thrown), systemCodeOf(thrown));
    throw new PolypodError('unreachable', `cannot reach ${origin} for a Google Cloud token: ${reason}`, {
      cause: thrown,
    });
  }
  if (status < 300) return text;
  if (status >= 500)
    throw new PolypodError(
      'unreachable',
      `${origin} answered HTTP ${status} instead of a Google Cloud token`,
    );
  throw new PolypodError(
    'bad-request',
    `${origin} rejects ${source} (${reasonIn(text) || `HTTP ${status}`}): run gcloud auth application-default login, or replace the key of the service account`,
  );
}

/** OAuth servers answer `{error, error_description}`, Google's other servers `{error: {message}}`. */
function reasonIn(text: string): string {
  const { error, error_description } = parseObject(text) ?? {};
  const parts = [stringOf(error) || stringOf(objectOf(error)['message']), stringOf(error_description)];
  return ellipsize(parts.filter((part) => part !== '').join(': '), 200);
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

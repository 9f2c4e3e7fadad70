import { tryParse, objectOf, type JsonObject, stringOf } from '../base/index.ts';

/** A request to a server of Google that issues tokens. */
export interface TokenRequest {
  readonly method: string;
  readonly pathname: string;
  readonly header: (name: string) => string;
  readonly text: string;
}

export interface TokenAnswer {
  readonly status: number;
  readonly body: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Issues tokens as Google's servers do: the OAuth server, the exchange of tokens of other identity providers, the
 * impersonation of service accounts, and the metadata server of a virtual machine. Returns undefined for other requests.
 */
export function issueToken(request: TokenRequest, nextToken: () => string): TokenAnswer | undefined {
  const { method, pathname, header } = request;
  if (method === 'GET' && pathname.endsWith('/computeMetadata/v1/instance/service-accounts/default/token'))
    return header('metadata-flavor') === 'Google'
      ? { ...issued(nextToken()), headers: { 'metadata-flavor': 'Google' } }
      : { status: 403, body: { error: 'Missing Metadata-Flavor:Google header.' } };
  if (method === 'POST' && pathname.endsWith(':generateAccessToken'))
    return header('authorization').startsWith('Bearer ')
      ? { status: 200, body: { accessToken: nextToken(), expireTime: '2100-01-01T00:00:00Z' } }
      : { status: 401, body: { error: { code: 401, message: 'no token', status: 'UNAUTHENTICATED' } } };
  if (method !== 'POST' || !pathname.endsWith('/token')) return undefined;
  const problem = formProblem(new URLSearchParams(request.text));
  return problem === undefined
    ? issued(nextToken())
    : { status: 400, body: { error: 'invalid_grant', error_description: problem } };
}

function issued(access_token: string): TokenAnswer {
  const issued_token_type = 'urn:ietf:params:oauth:token-type:access_token';
  return { status: 200, body: { access_token, expires_in: 3599, token_type: 'Bearer', issued_token_type } };
}

function formProblem(form: URLSearchParams): string | undefined {
  const missing = (names: string): string | undefined => {
    const name = names.split(' ').find((one) => (form.get(one) ?? '') === '');
    return name === undefined ? undefined : `Missing required parameter: ${name}`;
  };
  switch (form.get('grant_type')) {
    case 'urn:ietf:params:oauth:grant-type:jwt-bearer':
      return missing('assertion') ?? assertionProblem(form.get('assertion') ?? '');
    case 'refresh_token':
      return missing('client_id client_secret refresh_token');
    case 'urn:ietf:params:oauth:grant-type:token-exchange':
      return missing('audience scope requested_token_type subject_token subject_token_type');
    default:
      return 'Invalid grant_type';
  }
}

/** Checks what can be checked without the public key. */
function assertionProblem(assertion: string): string | undefined {
  const [header = '', claims = '', signature = '', ...rest] = assertion.split('.');
  const decoded = (part: string): JsonObject =>
    objectOf(tryParse(Buffer.from(part, 'base64url').toString('utf8')));
  const { iss, scope, aud, iat, exp } = decoded(claims);
  if (rest.length > 0 || signature === '' || decoded(header)['alg'] !== 'RS256')
    return 'Invalid JWT Signature.';
  if (stringOf(iss) === '' || stringOf(scope) === '' || stringOf(aud) === '') return 'Invalid JWT: claims';
  return Number(exp) - Number(iat) <= 3600 ? undefined : 'Invalid JWT: lifetime';
}

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { SignatureProblem, SignedRequest } from '../provider-api.ts';

/**
 * Checks how a request is authorized: with an API key, or with a signature (SigV4). The form of a signature is always checked; with
 * keys, it must also be the one that an accepted access key (`ID:SECRET`) produces.
 */
export function signatureProblem(
  request: SignedRequest,
  keys: readonly string[] | undefined,
): SignatureProblem | undefined {
  const authorization = request.header('authorization');
  if (authorization === '') return keys === undefined ? undefined : { error: 'no-key', message: '' };
  const [, apiKey] = /^Bearer\s+(.*)$/i.exec(authorization) ?? [];
  if (apiKey !== undefined)
    return keys === undefined || keys.includes(apiKey) ? undefined : { error: 'bad-key', message: '' };
  const signature = parse(authorization);
  const problem = signature === undefined ? 'its form is wrong' : formProblem(signature, request);
  if (signature === undefined || problem !== undefined)
    return { error: 'bad-key', message: `The request signature is not valid: ${problem}` };
  if (keys === undefined) return undefined;
  const secret = keys.find((key) => key.startsWith(`${signature.accessKey}:`))?.split(':')[1];
  if (secret === undefined) return { error: 'bad-key', message: '' };
  return isEqual(signature.signature, expectedSignature(signature, request, secret))
    ? undefined
    : { error: 'bad-key', message: MISMATCH };
}

interface Signature {
  readonly accessKey: string;
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

function parse(authorization: string): Signature | undefined {
  const [, accessKey, date, region, service, headers, signature] =
    /^AWS4-HMAC-SHA256 Credential=([A-Z0-9]+)\/(\d{8})\/([a-z0-9-]+)\/([a-z0-9-]+)\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      authorization,
    ) ?? [];
  if (!accessKey || !date || !region || !service || !headers || !signature) return undefined;
  return { accessKey, date, region, service, signedHeaders: headers.split(';'), signature };
}

function formProblem(
  { date, service, signedHeaders }: Signature,
  request: SignedRequest,
): string | undefined {
  const time = request.header('x-amz-date');
  if (service !== 'bedrock') return `it is for the service ${service}`;
  if (!/^\d{8}T\d{6}Z$/.test(time) || !time.startsWith(date)) return 'X-Amz-Date does not match its date';
  for (const name of ['host', 'x-amz-date'])
    if (!signedHeaders.includes(name)) return `it does not include the header ${name}`;
  if (request.header('x-amz-security-token') !== '' && !signedHeaders.includes('x-amz-security-token'))
    return 'it does not include the header x-amz-security-token';
  return undefined;
}

function expectedSignature(
  { date, region, service, signedHeaders }: Signature,
  { method, path, header, body }: SignedRequest,
  secret: string,
): string {
  const [pathname = '', query = ''] = path.split('?');
  const canonical = [
    method,
    // The path is encoded once more than in the request line.
    pathname.split('/').map(encodeStrictly).join('/'),
    query.split('&').toSorted().join('&'),
    ...signedHeaders.map((name) => `${name}:${header(name).trim().replace(/\s+/g, ' ')}`),
    '',
    signedHeaders.join(';'),
    sha256(body),
  ].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', header('x-amz-date'), scope, sha256(canonical)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${secret}`);
  return hmac(key, text).toString('hex');
}

function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function isEqual(received: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(received), Buffer.from(expected));
}

const MISMATCH =
  'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.';

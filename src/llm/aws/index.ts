/** Signs requests to Amazon's services with SigV4. The official packages are loaded with the first request. */
import { onAbort, PolypodError } from '../../base/index.ts';
import type { HttpRequest, Transport } from '../../wire/index.ts';
import type { OpenSigner, RequestSigner } from '../account.ts';
import type { AwsCredentials } from './credentials.ts';
import type { AwsSettings } from './settings.ts';

/** Creates a signer. It keeps credentials until they expire or are rejected; concurrent requests share one attempt to obtain them. */
export function awsSigner(settings: AwsSettings): RequestSigner {
  let current: AwsCredentials | undefined;
  let obtaining: Promise<AwsCredentials> | undefined;
  return {
    async open({ transport, isRenewal }, signal) {
      const region = settings.region ?? (await regionOf(settings));
      if (isRenewal || isExpiring(current)) current = undefined;
      if (current === undefined) {
        // Not cancelled with this request: another one may wait for the same credentials.
        obtaining ??= obtain(settings, region, transport).finally(() => (obtaining = undefined));
        current = await orAborted(obtaining, signal, 'cancelled');
      }
      return openSigner(current, region, settings.service);
    },
  };
}

function openSigner(credentials: AwsCredentials, region: string, service: string): OpenSigner {
  const { accessKeyId, secretAccessKey, sessionToken = '' } = credentials;
  return {
    region,
    secrets: [secretAccessKey, sessionToken, accessKeyId],
    sign: async (request) => ({
      ...request,
      headers: await signedHeaders(request, { credentials, region, service }),
    }),
  };
}

async function signedHeaders(
  { method, url, headers, body }: HttpRequest,
  signing: { readonly credentials: AwsCredentials; readonly region: string; readonly service: string },
): Promise<Readonly<Record<string, string>>> {
  const [{ SignatureV4 }, { Hash }] = await Promise.all([
    import('@smithy/signature-v4'),
    import('@smithy/core/serde'),
  ]);
  const signer = new SignatureV4({ ...signing, sha256: Hash.bind(null, 'sha256') });
  const { protocol, host, hostname, port, pathname, searchParams } = new URL(url);
  const signed = await signer.sign({
    method,
    protocol,
    hostname,
    ...(port === '' ? {} : { port: Number(port) }),
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: { ...headers, host },
    body,
  });
  return signed.headers;
}

async function regionOf(settings: AwsSettings): Promise<string> {
  const region = await (await import('./credentials.ts')).profileRegion(settings);
  if (region !== undefined) return region;
  throw new PolypodError(
    'bad-request',
    `no AWS region: set AWS_REGION, or add region: us-east-1 to ${settings.source}`,
  );
}

/** Whether credentials expire so soon that a request could arrive too late. */
function isExpiring(credentials: AwsCredentials | undefined): boolean {
  return credentials?.expiration !== undefined && credentials.expiration.getTime() - Date.now() < MARGIN_MS;
}

async function obtain(settings: AwsSettings, region: string, transport: Transport): Promise<AwsCredentials> {
  const { obtainCredentials } = await import('./credentials.ts');
  const signal = AbortSignal.timeout(OBTAIN_MS);
  return orAborted(
    obtainCredentials({ ...settings, region, transport, signal }),
    signal,
    `no AWS credentials within ${OBTAIN_MS / 1000} s: run "aws sts get-caller-identity" to see why`,
  );
}

function orAborted<Value>(value: Promise<Value>, signal: AbortSignal, message: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    const removeListener = onAbort(signal, () => reject(new PolypodError('bad-request', message)));
    value.then(resolve, reject).finally(removeListener);
  });
}

const MARGIN_MS = 5 * 60_000;
/** Enough for a login helper of the user that asks for a second factor. */
const OBTAIN_MS = 60_000;

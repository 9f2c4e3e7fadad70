import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP } from 'node:net';
import { type JsonObject, messageOf, PolypodError } from '../../../base/index.ts';
import { createHttpTransport, proxyFor, type Proxies, type Transport } from '../../../wire/index.ts';
import type { Webhook } from '../settings.ts';

/** The header `X-Polypod-Signature`: `t=<seconds>,v1=<HMAC-SHA256 of "t.body" in hexadecimal>`. */
export function signature(secret: string, seconds: number, body: string): string {
  const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return `t=${seconds},v1=${mac}`;
}

/** Sends once. Rejects unless the receiver confirms; a redirect is not a confirmation. */
export type Post = (webhook: Webhook, message: JsonObject, options: PostOptions) => Promise<void>;

export interface PostOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

interface Envelope {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Creates the function that sends webhooks, through a proxy where the environment names one. */
export function createPost(proxies: Proxies | undefined): Post {
  const transport = createHttpTransport(undefined, proxies);
  return async (webhook, message, options) => {
    const body = JSON.stringify(message);
    const seconds = Math.floor(Date.now() / 1000);
    const headers = {
      'content-type': 'application/json',
      'x-polypod-signature': signature(webhook.secret, seconds, body),
    };
    const status =
      proxyFor(webhook.url, proxies) === undefined
        ? await sendDirectly(webhook, { headers, body }, options)
        : await sendThroughProxy(transport, webhook, { headers, body }, options);
    if (status < 200 || status > 299)
      throw new PolypodError('provider-failed', `the receiver answered ${status}`);
  };
}

/** The proxy resolves the name, because many company networks do not; only addresses in the URL itself can be checked here. */
async function sendThroughProxy(
  transport: Transport,
  { url, allowPrivate = false }: Webhook,
  envelope: Envelope,
  { timeoutMs, signal }: PostOptions,
): Promise<number> {
  const name = addressName(new URL(url));
  if (isIP(name) !== 0) refusePrivate(name, name, allowPrivate);
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const { status, body } = await transport(
      { method: 'POST', url, ...envelope },
      { signal: AbortSignal.any([signal, timeout]), onOpen: () => {} },
    );
    for await (const _ of body);
    return status;
  } catch (thrown) {
    throw timeout.aborted ? new Error(`no answer within ${timeoutMs} ms`, { cause: thrown }) : thrown;
  }
}

async function sendDirectly(
  { url, allowPrivate = false }: Webhook,
  { headers, body }: Envelope,
  { timeoutMs, signal }: PostOptions,
): Promise<number> {
  const target = new URL(url);
  const address = await addressOf(target, allowPrivate);
  const send = target.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise<number>((resolve, reject) => {
    const sent = send(
      target,
      {
        method: 'POST',
        // Connects to the address that was checked: the name could resolve to another one later.
        lookup: (_, options, done) => {
          if (options.all === true) done(null, [address]);
          else done(null, address.address, address.family);
        },
        timeout: timeoutMs,
        signal,
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.on('timeout', () => sent.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    sent.on('error', reject);
    sent.end(body);
  });
}

async function addressOf(
  url: URL,
  allowPrivate: boolean,
): Promise<{ readonly address: string; readonly family: number }> {
  const name = addressName(url);
  const found = await lookup(name).catch((thrown: unknown) => {
    throw new PolypodError('provider-failed', `cannot resolve ${name}: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  });
  refusePrivate(found.address, name, allowPrivate);
  return found;
}

function addressName({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function refusePrivate(address: string, name: string, allowPrivate: boolean): void {
  if (allowPrivate || !isPrivate(address)) return;
  throw new PolypodError('denied', `${name} is a private address: allow it in the configuration`);
}

export function isPrivate(address: string): boolean {
  return PRIVATE.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

const PRIVATE = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  PRIVATE.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  PRIVATE.addSubnet(net, prefix, 'ipv6');

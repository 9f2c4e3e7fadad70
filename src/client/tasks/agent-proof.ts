import { hash, randomBytes } from 'node:crypto';
import { PolypodError } from '../../base/index.ts';
import {
  CHALLENGE_HEADER,
  type Challenge,
  encodeChallenge,
  type HttpWatch,
  isSameProof,
  PROOF_HEADER,
  computeProof,
  type Transport,
} from '../../wire/index.ts';

/**
 * A transport that sends a key only to an agent that has proved that it knows the key. After a failed connection the proof is
 * requested again, because another program may be listening.
 */
export function provingTransport(key: string, transport: Transport): Transport {
  let isProved = false;
  return async (request, watch) => {
    try {
      isProved ||= await agentKnowsKey(new URL(request.url), key, transport, watch);
      if (isProved) return await transport(request, watch);
    } catch (thrown) {
      isProved = false;
      throw thrown;
    }
    throw new PolypodError(
      'denied',
      `the program at ${new URL(request.url).origin} did not prove that it is the agent of this key, so the key was not sent: start the agent with polypod agent start, or name the agent with --url and its key with --key-file`,
    );
  };
}

/** Asks an agent to prove that it knows a key, without sending the key. */
export async function agentKnowsKey(
  url: URL,
  key: string,
  transport: Transport,
  watch: HttpWatch,
): Promise<boolean> {
  const keyHash = hash('sha256', key);
  const keyId = /^ppk_([0-9a-z]{8,32})_/.exec(key)?.[1] ?? keyHash.slice(0, 12);
  const challenge: Challenge = { keyId, nonce: randomBytes(32).toString('hex') };
  const headers = { [CHALLENGE_HEADER]: encodeChallenge(challenge) };
  const healthRequest = { method: 'GET', url: new URL('/health', url.origin).href, headers } as const;
  const response = await transport(healthRequest, { signal: watch.signal, onOpen: () => {} });
  // The rest of the body is not needed.
  for await (const _ of response.body) break;
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  return isSameProof(response.headers[PROOF_HEADER] ?? '', computeProof(challenge, keyHash, port));
}

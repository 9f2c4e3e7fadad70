import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect, type ConnectionOptions } from 'node:tls';
import { type JsonObject, parseObject, PolypodError } from '../../../base/index.ts';
import type { AgentRecord } from '../../../daemon/index.ts';

export interface ProbeResult {
  readonly status: number;
  readonly body: JsonObject;
}

/** Sends a request to an agent on this machine. Rejects if nothing answers. */
export function ask(
  { url, cert }: Pick<AgentRecord, 'url' | 'cert'>,
  path: string,
  key: string | undefined,
  body?: JsonObject,
): Promise<ProbeResult> {
  const target = new URL(path, url);
  const send = target.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = send(
      target,
      {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        timeout: PATIENCE_MS,
        ...(cert !== undefined && pinned(cert)),
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: parseObject(text) ?? {} }),
        );
        response.on('error', reject);
      },
    );
    sent.on('timeout', () => sent.destroy(new PolypodError('unreachable', `${url} does not answer`)));
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/**
 * Checks whether an agent is running. An agent that requires a client certificate counts as running if it presents its own,
 * because this command has no certificate to present.
 */
export async function askWhether(
  record: AgentRecord,
  path: string,
  key: string | undefined,
): Promise<ProbeResult> {
  if (record.clientCertificate !== true) return ask(record, path, key);
  const { hostname, port } = new URL(record.url);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port),
      timeout: PATIENCE_MS,
      ...(record.cert !== undefined && pinned(record.cert)),
    });
    socket.on('secureConnect', () => {
      socket.destroy();
      resolve({ status: 401, body: {} });
    });
    socket.on('timeout', () =>
      socket.destroy(new PolypodError('unreachable', `${record.url} does not answer`)),
    );
    socket.on('error', reject);
  });
}

/** The certificate may name another host than the local address, so this exact certificate is required. */
function pinned(file: string): ConnectionOptions {
  const pem = readFileSync(file, 'utf8');
  const { raw } = new X509Certificate(pem);
  return {
    ca: pem,
    allowPartialTrustChain: true,
    checkServerIdentity: (_, shown) =>
      shown.raw.equals(raw)
        ? undefined
        : new PolypodError('denied', `another certificate than ${file} was shown`),
  };
}

const PATIENCE_MS = 5_000;

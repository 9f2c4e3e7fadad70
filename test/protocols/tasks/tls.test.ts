import { once } from 'node:events';
import { request } from 'node:https';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { selfSigned } from './certificate.ts';
import { textAnswer, task, tasksFixture } from './fixture.ts';

interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly key: string;
  readonly ca?: string;
}

function ask(
  url: string,
  { method = 'GET', body, key, ca }: Sent,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const sent = request(url, { method, headers, ...(ca && { ca }) }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('TLS', () => {
  it('carries a task from its submission to its last event', async () => {
    const tls = selfSigned();
    const { door, key: newKey } = await tasksFixture([textAnswer('Hello.')], {
      tasks: { address: '0.0.0.0', tls },
    });
    const url = `https://127.0.0.1:${door().port}`;
    const who = { key: newKey(), ca: tls.cert };
    const submitted = await ask(`${url}/submit_task`, {
      ...who,
      method: 'POST',
      body: JSON.stringify(task()),
    });
    const { taskId, status } = JSON.parse(submitted.body) as { taskId: string; status: string };
    expect(status).toBe('accepted');
    // Ends with the task.
    const events = await ask(`${url}/tasks/${taskId}/events`, who);
    expect(events.body).toContain('event: run_end');
    const { body } = await ask(`${url}/tasks/${taskId}/status`, who);
    expect(JSON.parse(body)).toMatchObject({ status: 'completed' });
  });

  it('is rejected by a client that does not trust the certificate, and answers plain HTTP with the reason', async () => {
    const { door, key: newKey } = await tasksFixture([], { tasks: { tls: selfSigned() } });
    const url = `https://127.0.0.1:${door().port}`;
    await expect(ask(`${url}/health`, { key: newKey() })).rejects.toThrow('self-signed certificate');
    const plain = await fetch(url.replace('https', 'http'), { headers: { 'x-api-key': newKey() } });
    expect([plain.status, await plain.json()]).toEqual([
      400,
      {
        error: {
          code: 'malformed_request',
          message: 'this port uses HTTPS: use https:// in the URL',
        },
      },
    ]);
  });

  it('closes a connection that sends nothing', async () => {
    const { door } = await tasksFixture([], {
      tasks: { tls: selfSigned(), limits: { http: { headersMs: 50, requestMs: 50 } } },
    });
    const silent = connect(door().port, '127.0.0.1');
    await once(silent, 'close');
  });
});

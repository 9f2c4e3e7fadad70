import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import { onTestFinished, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { isPrivate } from '../../../src/protocols/tasks/webhooks/webhook.ts';
import { proxiesFrom } from '../../../src/wire/index.ts';
import { startProxy } from '../../wire/proxy-server.ts';
import { textAnswer, tasksFixture } from './fixture.ts';

interface Delivery {
  readonly body: string;
  readonly signature: string;
  readonly message: JsonObject;
}

/** A receiver of webhooks that refuses the first attempts. */
async function receiver(
  refusals = 0,
): Promise<{ url: string; delivery: (index: number) => Promise<Delivery>; count: () => number }> {
  const all: Delivery[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      const message = JSON.parse(body) as JsonObject;
      all.push({ body, signature: String(request.headers['x-polypod-signature']), message });
      response.writeHead(all.length <= refusals ? 503 : 204).end();
      for (const wake of waiting) wake();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    count: () => all.length,
    delivery: async (index) => {
      for (;;) {
        const found = all[index];
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
  };
}

/** A server that accepts connections and never answers. */
async function silentUrl(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => void sockets.add(socket));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

const FAST = { webhooks: { firstDelayMs: 1 } };

describe('webhooks', () => {
  it('report that a task has ended, signed, and are retried until they are accepted', async () => {
    const hook = await receiver(2);
    const webhooks = [{ url: hook.url, secret: 'shared', allowPrivate: true }];
    const { client } = await tasksFixture([textAnswer('Hello.')], { tasks: { webhooks, limits: FAST } });
    const taskId = await client().submit();
    const { body, signature, message } = await hook.delivery(2);
    expect(message).toMatchObject({
      type: 'task.completed',
      taskId,
      owner: 'ada',
      sessionId: 's1',
      state: 'succeeded',
    });
    expect((await hook.delivery(0)).message.id).toBe(message.id);
    const [, seconds, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
    expect(mac).toBe(createHmac('sha256', 'shared').update(`${seconds}.${body}`).digest('hex'));
    expect(hook.count()).toBe(3);
  });

  it('are sent through the proxy in the environment', async () => {
    const hook = await receiver();
    const proxy = await startProxy({ 'hooks.example.com:80': Number(new URL(hook.url).port) });
    const webhooks = [{ url: 'http://hooks.example.com/hook', secret: 'shared' }];
    const proxies = proxiesFrom({ HTTP_PROXY: proxy.url });
    const { client } = await tasksFixture([textAnswer('Hello.')], {
      tasks: { webhooks, limits: FAST, ...(proxies && { proxies }) },
    });
    const taskId = await client().submit();
    expect((await hook.delivery(0)).message).toMatchObject({ type: 'task.completed', taskId });
    expect(proxy.requests).toEqual(['POST http://hooks.example.com/hook']);
  });

  it('report a pending approval', async () => {
    const hook = await receiver();
    const webhooks = [{ url: hook.url, secret: 'shared', allowPrivate: true }];
    const { client } = await tasksFixture([], { tasks: { webhooks, limits: FAST } });
    const ada = client();
    await ada.submit({ taskType: 'command_execution', userPrompt: 'node -e 1' });
    const { message } = await hook.delivery(0);
    expect(message).toMatchObject({ type: 'approval.pending', tool: 'bash', sessionId: 's1' });
    await ada.post(`/approvals/${String(message.approvalId)}/decide`, { decision: 'deny' });
    expect((await hook.delivery(1)).message).toMatchObject({ type: 'task.failed', state: 'denied' });
  });

  it('are sent before the agent stops, without waiting for a retry delay', async () => {
    const hook = await receiver(1);
    const webhooks = [{ url: hook.url, secret: 'shared', allowPrivate: true }];
    const slow = { webhooks: { firstDelayMs: 3_600_000 } };
    const { client, door } = await tasksFixture([textAnswer('Hello.')], {
      tasks: { webhooks, limits: slow },
    });
    const ada = client();
    const taskId = await ada.submit();
    await hook.delivery(0);
    await door().close();
    expect(hook.count()).toBe(2);
    expect((await hook.delivery(1)).message).toMatchObject({ type: 'task.completed', taskId });
  });

  it('do not delay an agent that stops, and are logged when they are not accepted', async () => {
    const webhooks = [{ url: await silentUrl(), secret: 'shared', allowPrivate: true }];
    const limits = { webhooks: { lastMs: 50 } };
    const { client, door, logged } = await tasksFixture([textAnswer('Hello.')], {
      tasks: { webhooks, limits },
    });
    const ada = client();
    await ada.done(await ada.submit());
    await door().close();
    expect(logged.join('\n')).toContain('gave up on a webhook message');
  });

  it('are not sent to private addresses unless that is allowed', async () => {
    const hook = await receiver();
    const { client, logged } = await tasksFixture([textAnswer('Hello.')], {
      tasks: { webhooks: [{ url: hook.url, secret: 'shared' }], limits: { webhooks: { attempts: 1 } } },
    });
    const ada = client();
    await ada.done(await ada.submit());
    while (!logged.some((line) => line.includes('a webhook message was not accepted')))
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    expect(logged.join('\n')).toContain('private address');
    expect(hook.count()).toBe(0);
  });

  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '192.168.0.1',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:10.0.0.1',
  ])('treat %s as a private address', (address) => expect(isPrivate(address)).toBe(true));

  it.each(['93.184.216.34', '8.8.8.8', '2606:2800:220:1::1'])('treat %s as a public address', (address) =>
    expect(isPrivate(address)).toBe(false),
  );
});

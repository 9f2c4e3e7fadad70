import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { revokeKey } from '../../../src/protocols/tasks/index.ts';
import { generatedText } from '../../../src/sim/index.ts';
import { SocketClient } from '../../wire/web-socket-client.ts';
import { textAnswer, type TasksFixture, task, tasksFixture } from './fixture.ts';
import { WsClient } from './ws-client.ts';

interface ReceivedLine extends JsonObject {
  readonly event: string;
  readonly data: JsonObject;
  readonly id?: string;
  readonly seq?: number;
  readonly session_id?: string;
}

function linesOf(link: SocketClient): readonly ReceivedLine[] {
  return link.texts.map((text) => JSON.parse(text) as ReceivedLine);
}

function waitFor(link: SocketClient, matches: (line: ReceivedLine) => boolean): Promise<ReceivedLine> {
  return link.until(() => linesOf(link).find(matches));
}

async function join(fixture: TasksFixture, key = fixture.key()): Promise<SocketClient> {
  const link = new SocketClient(fixture.door().url, { Authorization: `Bearer ${key}` });
  await link.upgraded();
  return link;
}

async function ask(link: SocketClient, method: string, params: JsonObject = {}): Promise<ReceivedLine> {
  const id = `r${link.texts.length}-${method}`;
  link.send({ method, params, request_id: id });
  return waitFor(link, (line) => line.request_id === id);
}

describe('the WebSocket', () => {
  it('accepts a prompt, sends its events, and answers requests', async () => {
    const fixture = await tasksFixture([textAnswer('Hello.'), textAnswer('Again.')]);
    const link = await join(fixture);
    const first = await ask(link, 'prompt', task());
    expect(first).toMatchObject({ event: 'accepted', data: { status: 'accepted' } });
    await ask(link, 'subscribe', { sessionId: 's1', after: 0 });
    const { session_id } = await waitFor(link, ({ event }) => event === 'run_end');
    expect(session_id).toBe('s1');
    const status = await ask(link, 'status', { taskId: first.data.taskId });
    expect(status.data).toMatchObject({ status: 'completed', result: { text: 'Hello.' } });
  });

  it('sends approval requests, and accepts decisions', async () => {
    const fixture = await tasksFixture([]);
    const link = await join(fixture);
    const { data } = await ask(
      link,
      'prompt',
      task({ taskType: 'command_execution', userPrompt: 'node -e 1' }),
    );
    await ask(link, 'subscribe', { sessionId: 's1', after: 0 });
    const approvalRequest = await waitFor(link, ({ event }) => event === 'approval_request');
    await ask(link, 'decide', {
      approvalId: approvalRequest.data.approval_id,
      decision: 'deny',
      comment: 'no',
    });
    await waitFor(link, ({ event }) => event === 'run_end');
    expect((await ask(link, 'status', { taskId: data.taskId })).data).toMatchObject({
      status: 'failed',
      state: 'denied',
      errorMessage: 'the command was denied: ada denied this call: no',
    });
  });

  it('resumes exactly where it was cut off, also after a kill', async () => {
    const fixture = await tasksFixture([{ parts: [{ text: generatedText(30) }], pace: { chunkSize: 1 } }]);
    const key = fixture.key();
    const link = await join(fixture, key);
    await ask(link, 'prompt', task());
    await ask(link, 'subscribe', { sessionId: 's1', after: 0 });
    await waitFor(
      link,
      ({ event, data }) => event === 'status' && data.state === 'idle' && linesOf(link).length > 30,
    );
    const all = linesOf(link).filter(({ id }) => id !== undefined);
    link.socket.destroy();
    await fixture.restart('kill');
    for (const cut of [0, 1, Math.floor(all.length / 2), all.length - 2]) {
      const again = await join(fixture, key);
      await ask(again, 'subscribe', { sessionId: 's1', after: all[cut]?.id });
      await waitFor(again, ({ id }) => id === all.at(-1)?.id);
      const last = all.at(-1)?.seq ?? 0;
      // After it follows only the event of the kill.
      const rest = linesOf(again).filter(({ id, seq = 0 }) => id !== undefined && seq <= last);
      expect(rest).toEqual(all.slice(cut + 1));
    }
  });

  it('is refused without a valid key, for a foreign origin, and on other paths', async () => {
    const fixture = await tasksFixture([]);
    const { url } = fixture.door();
    const key = fixture.key();
    const answerTo = async (headers: Record<string, string>, path?: string): Promise<string> => {
      const link = new SocketClient(url, headers, path);
      await link.closed;
      return link.answer;
    };
    const authorization = `Bearer ${key}`;
    expect(await answerTo({})).toMatch(/^HTTP\/1.1 401 /);
    expect(await answerTo({ authorization, origin: 'https://evil.example' })).toMatch(/^HTTP\/1.1 403 /);
    expect(await answerTo({ authorization, Host: 'evil.example' })).toMatch(/^HTTP\/1.1 403 /);
    expect(await answerTo({ authorization }, '/elsewhere')).toMatch(/^HTTP\/1.1 400 /);
    expect(await answerTo({ authorization, 'Sec-WebSocket-Version': '8' })).toMatch(/^HTTP\/1.1 426 /);
    expect(await answerTo({}, `/ws?key=${key}`)).toMatch(/^HTTP\/1.1 401 /);
  });

  it('accepts a key as a subprotocol, as browsers can send it', async () => {
    const fixture = await tasksFixture([]);
    const link = new SocketClient(fixture.door().url, {
      'Sec-WebSocket-Protocol': `polypod, bearer.${fixture.key()}`,
    });
    await link.upgraded();
    expect(link.answer).toContain('Sec-WebSocket-Protocol: polypod');
    expect(link.answer).not.toContain('bearer.');
  });

  it('answers invalid messages, and stays open', async () => {
    const fixture = await tasksFixture([]);
    const link = await join(fixture, fixture.key({ scopes: ['read'] }));
    for (const [text, code, message] of [
      ['no json', 'malformed_json', 'the message is not JSON'],
      ['[]', 'invalid_request', 'the message must be a JSON object'],
      ['{"method":7}', 'invalid_request', 'method must be one of subscribe'],
      ['{"method":"subscribe","params":[]}', 'invalid_request', 'params'],
      ['{"method":"status","params":{}}', 'invalid_request', 'taskId is missing'],
      ['{"method":"status","params":{"taskId":5}}', 'invalid_request', 'taskId must be text'],
    ] as const) {
      const before = link.texts.length;
      link.send(text);
      expect(JSON.parse(await link.until(() => link.texts[before]))).toMatchObject({
        event: 'error',
        data: { code, message: expect.stringContaining(message) },
      });
    }
    const able = await join(fixture);
    expect((await ask(able, 'cancel')).data.message).toContain('taskId is missing');
    expect((await ask(able, 'decide', { decision: 'approve' })).data.message).toContain(
      'approvalId is missing',
    );
    expect(await ask(link, 'prompt', task())).toMatchObject({
      event: 'error',
      data: { code: 'missing_scope' },
    });
    expect(await ask(link, 'subscribe', { sessionId: 'none' })).toMatchObject({
      data: { code: 'not_found' },
    });
  });

  it('is recorded in the audit log', async () => {
    const fixture = await tasksFixture([textAnswer('Hello.')]);
    const link = await join(fixture);
    const { data } = await ask(link, 'prompt', task());
    await ask(link, 'decide', { approvalId: 'none', decision: 'approve' });
    expect(await fixture.audited()).toMatchObject([
      { action: 'GET /ws', by: 'ada', outcome: 'allowed' },
      { action: 'WS prompt', by: 'ada', target: data.taskId, outcome: 'allowed' },
      { action: 'WS decide', by: 'ada', target: 'none', outcome: 'not_found' },
    ]);
  });

  it('ends when its key is revoked', async () => {
    const fixture = await tasksFixture([]);
    const key = fixture.key();
    const link = await join(fixture, key);
    revokeKey(fixture.keyFile, key.split('_')[1] ?? '');
    await link.closed;
    expect([link.closeCode, link.closeReason]).toEqual([4000, 'the key was revoked']);
  });

  it('disconnects only a client that does not read', async () => {
    const rate = { perMinute: 1_000_000, burst: 1_000_000 };
    const limits = { unreadBytes: 100_000, keepAliveMs: 60_000, rate, webSocket: { frames: rate } };
    const fixture = await tasksFixture([textAnswer('x'.repeat(200_000))], { tasks: { limits } });
    const ada = fixture.client();
    const taskId = await ada.submit();
    await ada.done(taskId);
    const join = async (): Promise<WsClient> => {
      const client = new WsClient(fixture.door().url, [], { headers: ada.headers });
      await client.opened;
      return client;
    };
    const [asking, good] = [await join(), await join()];
    const streams = (): unknown => fixture.door().status().streams;
    asking.socket.pause();
    // More than all buffers on the way can hold.
    for (let at = 0; at < 90; at += 1)
      asking.socket.send(JSON.stringify({ method: 'status', params: { taskId } }));
    while (streams() === 2) await good.ask('unsubscribe', { sessionId: 's1' });
    expect(await good.ask('status', { taskId })).toMatchObject({ data: { status: 'completed' } });
    expect(streams()).toBe(1);
  });
});

describe('the ws package', () => {
  it('works as with any other server: offers a key, sends, receives, answers pings, and closes', async () => {
    const fixture = await tasksFixture([textAnswer('Hello, 世界 👋.')], {
      tasks: { limits: { keepAliveMs: 250 } },
    });
    const client = new WsClient(fixture.door().url, ['polypod', `bearer.${fixture.key()}`]);
    await client.opened;
    expect(client.socket.protocol).toBe('polypod');
    const pings = new Promise<void>((resolve) => {
      let count = 0;
      client.socket.on('ping', () => (count += 1) === 2 && resolve());
    });
    const { data } = await client.ask('prompt', task());
    await client.ask('subscribe', { sessionId: 's1', after: 0 });
    await client.waitFor(({ event }) => event === 'run_end');
    const texts = client.received.filter(({ event }) => event === 'text_done');
    expect(texts.map((line) => line.data.text)).toEqual(['Hello, 世界 👋.']);
    await pings;
    expect((await client.ask('status', { taskId: data.taskId })).data).toMatchObject({ status: 'completed' });
    client.socket.close(1000);
    expect(await client.closed).toBe(1000);
  });

  it('receives the reason of a refusal', async () => {
    const fixture = await tasksFixture([]);
    const client = new WsClient(fixture.door().url, ['polypod', 'bearer.wrong']);
    await expect(client.opened).rejects.toThrow('401');
  });
});

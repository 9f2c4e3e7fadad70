import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { schemaProblems } from '../../../src/base/index.ts';
import { SEED_SUBMIT_REQUEST } from './seed-schemas.ts';
import { textAnswer, task } from './fixture.ts';
import { exchange, rawConnection, request, statusOf } from './limits/connect.ts';
import { type LimitedAgent, limitedAgent } from './limits/limited-agent.ts';
import { SocketClient } from '../../wire/web-socket-client.ts';
import { WsClient } from './ws-client.ts';

function bodyOf(answer: string): string {
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}

function headersOf(answer: string): Readonly<Record<string, string>> {
  const [head = ''] = answer.split('\r\n\r\n');
  return Object.fromEntries(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => [line.split(': ')[0]?.toLowerCase() ?? '', line.split(': ')[1] ?? '']),
  );
}

const withKey = ({ key }: LimitedAgent, ...more: readonly string[]): readonly string[] => [
  `X-API-Key: ${key}`,
  ...more,
];

/** Everything that the agent has logged. */
function written({ fixture: site }: LimitedAgent): string {
  const logs = join(site.dataDirectory, 'logs');
  return readdirSync(logs)
    .map((name) => readFileSync(join(logs, name), 'utf8'))
    .join('\n');
}

describe('the path of a request', () => {
  it('matches exactly one route', async () => {
    const agent = await limitedAgent('');
    const statusAt = async (target: string): Promise<readonly [string, number]> => [
      target,
      statusOf(await exchange(agent.port, request(target, withKey(agent)))),
    ];
    expect(await statusAt('/status')).toEqual(['/status', 200]);
    for (const target of [
      ...['//status', '//host/status', '/status/', '/./status', '/x/../status', '/tasks/../../status'],
      ...['/tasks/../status', '/%2e%2e/status', '/tasks/%2e%2e/status', '/tasks/%2E./status', '/%73tatus'],
      ...[
        '/status;a=b',
        '/;/status',
        '/STATUS',
        '/tasks%2f..%2fstatus',
        '/%2fstatus',
        '/status%00',
        '/status%20',
      ],
    ])
      expect(await statusAt(target)).toEqual([target, 404]);
    for (const target of [
      ...[`http://127.0.0.1:${agent.port}/status`, 'http://evil.example/status', '*', 'status', '/status#x'],
      ...['/tasks\\..\\status', '/\\status', '/%', '/%zz', '/stätus'],
    ])
      expect(await statusAt(target)).toEqual([target, 400]);
    expect(statusOf(await exchange(agent.port, request('127.0.0.1:22', withKey(agent), 'CONNECT')))).toBe(
      405,
    );
  });
});

describe('the headers of a request', () => {
  it('are refused if they are duplicated, contradictory, or missing', async () => {
    const agent = await limitedAgent('');
    const key = `X-API-Key: ${agent.key}`;
    const send = async (
      lines: readonly string[],
      method = 'GET /tasks',
    ): Promise<readonly [number, string]> => {
      const answer = await exchange(
        agent.port,
        `${method} HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`,
      );
      const code = /"code":"(\w+)"/.exec(bodyOf(answer))?.[1] ?? '';
      return [statusOf(answer), code];
    };
    const host = 'Host: 127.0.0.1';
    expect(await send([host, key])).toEqual([200, '']);
    for (const lines of [
      [host, host, key],
      [host, 'Host: evil.example', key],
      [host, key, key],
      [host, key, 'Authorization: Bearer a', 'authorization: Bearer b'],
      [host, key, 'Origin: null', 'Origin: null'],
      [host, key, 'Last-Event-ID: 1', 'Last-Event-ID: 2'],
    ])
      expect([lines, await send(lines)]).toEqual([lines, [400, 'duplicate_header']]);
    expect(await send([host, key, 'Authorization: Bearer other'])).toEqual([400, 'conflicting_keys']);
    expect(await send([host, key, `Authorization: Bearer ${agent.key}`])).toEqual([200, '']);
    expect(await send([key])).toEqual([400, 'malformed_request']);
    expect(await send(['Host: evil.example', key])).toEqual([403, 'host_not_allowed']);
    // Node.js refuses these two itself.
    const body = ['Content-Type: application/json', 'Content-Length: 2', 'Content-Length: 3'];
    expect((await send([host, key, ...body], 'POST /submit_task'))[0]).toBe(400);
    expect(
      (await send([host, key, 'Content-Length: 2', 'Transfer-Encoding: chunked'], 'POST /submit_task'))[0],
    ).toBe(400);
  });

  it('do not change the method, and grant no access to other origins', async () => {
    const agent = await limitedAgent('');
    const override = withKey(
      agent,
      'X-HTTP-Method-Override: POST',
      'X-HTTP-Method: DELETE',
      'X-Method-Override: PUT',
    );
    expect(bodyOf(await exchange(agent.port, request('/tasks', override)))).toBe('{"tasks":[]}');
    for (const [method, status] of [
      ['TRACE', 405],
      ['PUT', 405],
      ['DELETE', 405],
      ['PATCH', 405],
      ['OPTIONS', 405],
    ] as const)
      expect([
        method,
        statusOf(await exchange(agent.port, request('/tasks', withKey(agent), method))),
      ]).toEqual([method, status]);
    const preflight = await exchange(
      agent.port,
      request('/tasks', ['Origin: https://evil.example'], 'OPTIONS'),
    );
    expect(statusOf(preflight)).toBe(403);
    expect(preflight.toLowerCase()).not.toContain('access-control-');
  });

  it('can send Expect: 100-continue, which only an accepted request receives', async () => {
    const agent = await limitedAgent('', { script: [textAnswer('Hello.')] });
    const body = JSON.stringify(task());
    const post = (key: string): string =>
      request(
        '/submit_task',
        [
          `X-API-Key: ${key}`,
          'Content-Type: application/json',
          'Expect: 100-continue',
          `Content-Length: ${body.length}`,
        ],
        'POST',
      );
    const refused = await exchange(agent.port, post('wrong'));
    expect(refused).toMatch(/^HTTP\/1.1 401 /);
    const { socket, closed } = await rawConnection(agent.port);
    socket.write(post(agent.key));
    await once(socket, 'data');
    socket.write(body);
    expect(await closed).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK\r\n[^]*"accepted"/);
    expect(statusOf(await exchange(agent.port, request('/tasks', withKey(agent, 'Expect: magic'))))).toBe(
      417,
    );
  });
});

describe('the body of a request', () => {
  it('cannot contain null where the schema of the protocol forbids it', async () => {
    const agent = await limitedAgent('', { script: [textAnswer('Hello.'), textAnswer('Hello.')] });
    const client = agent.fixture.client();
    const good = task({ context: {} });
    expect((await client.post('/submit_task', good)).status).toBe(200);
    expect((await client.post('/submit_task', task({ context: { other: null }, more: null }))).status).toBe(
      200,
    );
    for (const wrong of [
      { ...good, context: null },
      { ...good, context: [] },
      { ...good, context: 'text' },
      { ...good, sessionId: null },
      { ...good, userPrompt: null },
      { ...good, taskType: null },
    ]) {
      expect(schemaProblems(wrong, SEED_SUBMIT_REQUEST)).not.toEqual([]);
      expect([wrong, (await client.post('/submit_task', wrong)).status]).toEqual([wrong, 400]);
    }
    const refused = await client.post('/submit_task', { ...good, context: null });
    expect(refused.body).toMatchObject({
      error: {
        code: 'invalid_request',
        message: 'the task cannot be read: context must not be null: omit it',
        details: { field: 'context' },
      },
    });
    for (const key of [
      'workingDirectory',
      'model',
      'permissionMode',
      'allowedPaths',
      'files',
      'maxTurns',
      'budget',
    ])
      expect([key, (await client.post('/submit_task', task({ context: { [key]: null } }))).status]).toEqual([
        key,
        400,
      ]);
    for (const key of ['comment', 'updatedArguments', 'remember', 'sessionId'])
      expect([
        key,
        (await client.post('/approvals/none/decide', { decision: 'approve', [key]: null })).status,
      ]).toEqual([key, 400]);
    const link = await agent.socket();
    link.send({ method: 'subscribe', params: { sessionId: 's1', after: null }, request_id: 1 });
    expect(await link.until(() => link.texts[0])).toContain('after must not be null');
  });
});

describe('HEAD', () => {
  it('answers like GET without a body on every route', async () => {
    const agent = await limitedAgent('', { script: [textAnswer('Hello.')] });
    const client = agent.fixture.client();
    const taskId = await client.submit();
    await client.done(taskId);
    for (const path of [
      ...[
        '/tasks',
        `/tasks/${taskId}/status`,
        '/sessions',
        '/sessions/s1',
        '/approvals',
        '/usage',
        '/status',
      ],
      ...['/health', '/openapi.json', '/nowhere', '/metrics', '/ws', '/submit_task'],
    ]) {
      const get = await exchange(agent.port, request(path, withKey(agent)));
      const head = await exchange(agent.port, request(path, withKey(agent), 'HEAD'));
      expect([path, bodyOf(head)]).toEqual([path, '']);
      expect([path, statusOf(head)]).toEqual([path, statusOf(get)]);
      const { 'content-type': type, 'content-length': size } = headersOf(get);
      if (path !== '/submit_task')
        expect([path, headersOf(head)]).toEqual([
          path,
          expect.objectContaining({ 'content-type': type, 'content-length': size }),
        ]);
    }
    // A stream would not end by itself.
    for (const path of [`/tasks/${taskId}/events`, '/sessions/s1/events']) {
      const head = await exchange(agent.port, request(path, withKey(agent), 'HEAD'));
      expect([statusOf(head), bodyOf(head)]).toEqual([200, '']);
      expect(headersOf(head)['content-type']).toContain('text/event-stream');
    }
    expect(statusOf(await exchange(agent.port, request('/health', [], 'HEAD')))).toBe(200);
    expect(statusOf(await exchange(agent.port, request('/tasks', [], 'HEAD')))).toBe(401);
  });
});

describe('every response', () => {
  it('has nosniff and no-store, and does not reveal the server', async () => {
    const agent = await limitedAgent('');
    for (const bytes of [
      request('/tasks', withKey(agent)),
      request('/nowhere', withKey(agent)),
      request('/tasks'),
      request('/tasks', ['Host: evil.example']),
      request('/health'),
      request('127.0.0.1:22', [], 'CONNECT'),
      'not HTTP\r\n\r\n',
      'GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    ]) {
      const headers = headersOf(await exchange(agent.port, bytes));
      expect([bytes, headers]).toEqual([
        bytes,
        expect.objectContaining({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' }),
      ]);
      expect(Object.keys(headers)).not.toContain('server');
      expect(Object.keys(headers)).not.toContain('x-powered-by');
    }
  });
});

describe('a key', () => {
  it('is never sent back or logged, wherever it was sent', async () => {
    const agent = await limitedAgent('', { logLevel: 'debug' });
    const { key, port, url } = agent;
    const answers = [
      await exchange(port, request(`/tasks?key=${key}`)),
      await exchange(port, request(`/tasks?x=${key}`, withKey(agent))),
      await exchange(port, request(`/tasks/${key}/status`, withKey(agent))),
      await exchange(port, request(`/${key}`, withKey(agent))),
      await exchange(port, request(`/tasks/${key}/status`)),
      await exchange(port, request(`http://${key}@localhost/tasks`, withKey(agent))),
      await exchange(port, `GET /tasks HTTP/1.1\r\nHost: ${key}\r\nConnection: close\r\n\r\n`),
      await exchange(port, request('/tasks', [`Authorization: Bearer ${key}x`])),
      await exchange(port, request('/tasks', [`Authorization: Basic ${key}`])),
    ];
    expect(answers.map(statusOf)).toEqual([401, 400, 400, 400, 401, 400, 403, 401, 401]);
    for (const protocols of [`polypod, bearer.${key}`, `bearer.${key}`, `bearer.${key}, other`]) {
      const link = new SocketClient(url, { 'Sec-WebSocket-Protocol': protocols });
      await link.upgraded();
      answers.push(link.answer);
      expect(link.answer.includes('Sec-WebSocket-Protocol: polypod')).toBe(protocols.startsWith('polypod'));
      expect(link.answer.match(/Sec-WebSocket-Protocol/g)?.length ?? 0).toBe(
        protocols.startsWith('polypod') ? 1 : 0,
      );
    }
    const secret = key.split('_').slice(2).join('_');
    expect(answers.join('\n')).not.toContain(secret);
    await agent.stop();
    expect(written(agent)).toContain('unauthorized');
    expect(written(agent)).not.toContain(secret);
  });

  it("is accepted in the subprotocols of the ws package and of a browser's WebSocket", async () => {
    const agent = await limitedAgent('');
    const both = new WsClient(agent.url, ['polypod', `bearer.${agent.key}`]);
    await both.opened;
    expect(both.socket.protocol).toBe('polypod');
    const alone = new WsClient(agent.url, [`bearer.${agent.key}`]);
    await expect(alone.opened).rejects.toThrow('Server sent no subprotocol');
    // The WebSocket of Node.js implements the browser standard.
    const script = `
      const socket = new WebSocket(process.argv[1], ['polypod', process.argv[2]]);
      socket.onopen = () => { console.log(socket.protocol); process.exit(0); };
      socket.onerror = () => process.exit(1);`;
    const flags = process.versions.node.startsWith('20.') ? ['--experimental-websocket'] : [];
    const child = spawn(process.execPath, [
      ...flags,
      '-e',
      script,
      `${agent.url.replace('http', 'ws')}/ws`,
      `bearer.${agent.key}`,
    ]);
    let output = '';
    child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()));
    await once(child, 'close');
    expect(output.trim()).toBe('polypod');
  });
});

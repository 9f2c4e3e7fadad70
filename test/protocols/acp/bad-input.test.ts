import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { arrayOf, type JsonObject, objectOf } from '../../../src/base/index.ts';
import { dataPathsFrom } from '../../../src/setup/index.ts';
import { start } from '../../cli/polypod.ts';
import { type AcpFixture, acpFixture, describeWithAndWithoutDaemon, textAnswer, STALLS } from './fixture.ts';

/** `polypod acp` without a client library: what is sent need not be valid. */
class Raw {
  readonly lines: JsonObject[] = [];
  readonly #running;
  #rest = '';
  #wake = (): void => {};
  #ids = 100;

  constructor({ env }: AcpFixture) {
    this.#running = start(['acp'], env);
    this.#running.child.stdin.on('error', () => {});
    this.#running.child.stdout.on('data', (text: string) => {
      const parts = (this.#rest + text).split('\n');
      this.#rest = parts.pop() ?? '';
      for (const line of parts) this.lines.push(objectOf(JSON.parse(line)));
      this.#wake();
    });
    void this.#running.finished.then(() => this.#wake());
  }

  get child() {
    return this.#running.child;
  }

  get finished() {
    return this.#running.finished;
  }

  write(bytes: string | Uint8Array): void {
    this.child.stdin.write(bytes);
  }

  /** Waits for the answer with this id. */
  answer(id: unknown, from = 0): Promise<JsonObject> {
    return this.#line((line) => line.id === id && line.method === undefined, from);
  }

  /** Waits for a part of the model's answer. */
  modelText(): Promise<JsonObject> {
    return this.#line(({ params }) => {
      const { sessionUpdate } = objectOf(objectOf(params).update);
      return sessionUpdate === 'agent_message_chunk';
    });
  }

  async #line(isWanted: (line: JsonObject) => boolean, from = 0): Promise<JsonObject> {
    for (;;) {
      const found = this.lines.slice(from).find(isWanted);
      if (found !== undefined) return found;
      if (this.child.exitCode !== null)
        throw new Error(`the program has ended: ${JSON.stringify(this.lines)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async request(method: string, params: unknown): Promise<JsonObject> {
    const id = (this.#ids += 1);
    this.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return this.answer(id);
  }

  /** Sends a line that is not a request; resolves with the code of the answer that has no id. */
  async refused(line: string | Uint8Array): Promise<unknown> {
    const from = this.lines.length;
    this.write(line);
    this.write('\n');
    return objectOf((await this.answer(null, from)).error).code;
  }

  initialize(): Promise<JsonObject> {
    return this.request('initialize', { protocolVersion: 1 });
  }
}

const prompt = (text: string) => [{ type: 'text', text }];

describeWithAndWithoutDaemon((openFixture) => {
  test('invalid lines are answered, and the connection and its sessions go on', async () => {
    const fixture = await openFixture([STALLS, textAnswer('Hello')]);
    const raw = new Raw(fixture);
    await raw.initialize();
    const session = objectOf((await raw.request('session/new', { cwd: fixture.cwd, mcpServers: [] })).result);
    const { sessionId } = session;
    raw.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: 'long', method: 'session/prompt', params: { sessionId, prompt: prompt('go') } })}\n`,
    );
    for (const [line, code] of [
      ['{"jsonrpc":', -32700],
      ['hello', -32700],
      ['5', -32600],
      ['null', -32600],
      ['"text"', -32600],
      ['[]', -32600],
      ['[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', -32600],
      ['{}', -32600],
      ['{"jsonrpc":"1.0","id":1,"method":"initialize"}', -32600],
      ['{"jsonrpc":"2.0","id":{},"method":"initialize"}', -32600],
      ['{"jsonrpc":"2.0","id":[1],"method":"initialize"}', -32600],
      ['{"jsonrpc":"2.0","id":null}', -32600],
      ['{"jsonrpc":"2.0","id":null,"method":5}', -32600],
      ['{"jsonrpc":"2.0","id":"long","method":"session/list","params":{}}', -32600],
      [`{"jsonrpc":"2.0","id":1,"method":"x","params":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, -32600],
      [Buffer.from([0x7b, 0xff, 0xfe, 0x22, 0x80]), -32700],
    ] as const)
      expect(await raw.refused(line), String(line).slice(0, 80)).toBe(code);
    expect(objectOf((await raw.request('no/such', {})).error).code).toBe(-32601);
    expect(objectOf((await raw.request('__proto__', {})).error).code).toBe(-32601);
    // Both are notifications: with an id they are unknown requests, which are answered.
    for (const notification of ['session/cancel', '$/cancel_request'])
      expect(objectOf((await raw.request(notification, { sessionId, requestId: 'long' })).error).code).toBe(
        -32601,
      );
    for (const params of [undefined, null, [], 'x', 5])
      expect(objectOf((await raw.request('session/prompt', params)).error)).toMatchObject({
        code: -32602,
        data: { field: 'sessionId' },
      });
    // Cancelled before its request to the model, the prompt would leave the first answer of the script to the next one.
    await raw.modelText();
    // Unknown notifications and answers to nothing are ignored.
    raw.write('{"jsonrpc":"2.0","method":"no/such"}\n{"jsonrpc":"2.0","id":77,"result":{}}\n\n');
    raw.write('{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":5}}\n');
    raw.write('{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"none"}}\n');
    raw.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId } })}\n`);
    expect((await raw.answer('long')).result).toEqual({ stopReason: 'cancelled' });
    expect((await raw.request('session/prompt', { sessionId, prompt: prompt('again') })).result).toEqual({
      stopReason: 'end_turn',
    });
  });

  test('a line of 40 MB is refused, and the next one is read', async () => {
    const raw = new Raw(await openFixture([]));
    await raw.initialize();
    const from = raw.lines.length;
    raw.write(`{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"x":"`);
    const piece = Buffer.alloc(1024 * 1024, 'x');
    for (let n = 0; n < 40; n += 1) raw.write(piece);
    raw.write('"}}\n');
    expect(objectOf((await raw.answer(null, from)).error).code).toBe(-32700);
    expect(objectOf((await raw.request('session/list', {})).result)).toEqual({ sessions: [] });
  });

  test('requests before initialize are refused', async () => {
    const raw = new Raw(await openFixture([]));
    expect(objectOf((await raw.request('session/list', {})).error).code).toBe(-32600);
    for (const protocolVersion of [undefined, '1', 1.5, null])
      expect(objectOf((await raw.request('initialize', { protocolVersion })).error)).toMatchObject({
        code: -32602,
        data: { field: 'protocolVersion' },
      });
    expect(objectOf((await raw.initialize()).result).protocolVersion).toBe(1);
  });

  test('a client that does not read loses nothing, and the run of another client ends', async () => {
    const fixture = await openFixture((request) =>
      JSON.stringify(request).includes('much')
        ? { parts: [], pace: { deltas: 3_000, chunkSize: 1_000, delayMs: 0 } }
        : textAnswer('Hello'),
    );
    const raw = new Raw(fixture);
    await raw.initialize();
    const created = await raw.request('session/new', { cwd: fixture.cwd, mcpServers: [] });
    const { sessionId } = objectOf(created.result);
    raw.child.stdout.pause();
    raw.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: 'much', method: 'session/prompt', params: { sessionId, prompt: prompt('much') } })}\n`,
    );
    const other = await fixture.editor();
    const theirs = await other.newSession(fixture.cwd);
    expect(await other.prompt(theirs.sessionId, 'hi')).toBe('end_turn');
    raw.child.stdout.resume();
    expect((await raw.answer('much')).result).toEqual({ stopReason: 'end_turn' });
    const length = raw.lines
      .map(({ params }) => objectOf(objectOf(params).update))
      .filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')
      .reduce((sum, { content }) => sum + String(objectOf(content).text).length, 0);
    expect(length).toBe(3_000_000);
  });
});

test('the end of the input in the middle of a line ends the program', async () => {
  const raw = new Raw(await acpFixture([]));
  await raw.initialize();
  raw.write('{"jsonrpc":"2.0","id":1,');
  raw.child.stdin.end();
  expect(await raw.finished).toMatchObject({ code: 0 });
  expect(arrayOf(raw.lines)).toHaveLength(1);
});

test('a connection to the daemon with an invalid first line is refused with the reason, and others are served', async () => {
  const { env, editor, cwd } = await acpFixture([textAnswer('Hello')], { daemon: true });
  const path = join(dataPathsFrom(env).runtimeDirectory, 'acp.sock');
  for (const header of [
    'hello',
    '5',
    'null',
    '[]',
    '{}',
    '{"by":5,"setup":{"command":"polypod","args":[]}}',
    '{"by":"ada","setup":{"command":"polypod","args":[5]}}',
    '{"by":"ada","setup":{"command":"polypod","args":[]},"terminals":"yes"}',
    '{"__proto__":{"by":"ada","setup":{"command":"polypod","args":[]}}}',
    `{"by":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
    Buffer.from([0xff, 0xfe, 0x80]),
  ]) {
    const socket = connect({ path }).setEncoding('utf8');
    socket.write(Buffer.concat([Buffer.from(header), Buffer.from('\n{"jsonrpc":"2.0","id":1}\n')]));
    let text = '';
    for await (const piece of socket) text += String(piece);
    expect(objectOf(JSON.parse(text)).refused, String(header).slice(0, 80)).toMatch(/header of the link/);
  }
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  expect(await one.prompt(sessionId, 'hi')).toBe('end_turn');
});

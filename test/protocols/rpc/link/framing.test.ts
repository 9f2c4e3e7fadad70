import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameReader } from '../../../../src/protocols/rpc/link/frames.ts';
import { inProcessFixture as inProcess } from '../in-process-fixture.ts';
import { describeOnEach } from '../each-connection.ts';

const ASK = '{"id":"s","type":"get_state"}';

describeOnEach((openFixture) => {
  describe('lines', () => {
    it.each([
      ['a blank line before it', `\n  \n${ASK}\n`],
      ['a carriage return', `${ASK}\r\n`],
      [
        'line separators of Unicode in a text',
        `{"id":"s","type":"set_session_name","name":"a\u2028b\u2029c"}\n`,
      ],
    ])('are parsed with %s', async (_, text) => {
      const { client } = await openFixture([]);
      client.write(text);
      expect(await client.waitFor(({ id }) => id === 's')).toMatchObject({ success: true });
      expect(client.types.filter((type) => type !== 'session_info_changed')).toEqual(['response']);
    });

    it('are parsed however the bytes are split', async () => {
      const { client } = await openFixture([]);
      for (const byte of Buffer.from('{"id":"s","type":"set_session_name","name":"ไทย 日本 🦑"}\n')) {
        client.write(Uint8Array.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await client.waitFor(({ id }) => id === 's');
      expect(await client.get('get_state')).toMatchObject({ sessionName: 'ไทย 日本 🦑' });
    });

    it.each([
      ['{', { command: 'parse' }],
      ['{"type":"get_state"} {"type":"get_state"}', { command: 'parse' }],
      ['null', { command: 'parse' }],
      ['\u0000\u0001\u0002', { command: 'parse' }],
    ])('that are malformed get one error: %j', async (line, frame) => {
      const { client } = await openFixture([]);
      client.write(`${line}\n`);
      expect(await client.ask('get_state')).toMatchObject({ success: true });
      expect(client.lines[0]).toEqual({
        type: 'response',
        ...frame,
        success: false,
        error: expect.stringMatching(/^Failed to parse command: /) as unknown,
      });
      expect(client.lines).toHaveLength(2);
    });

    it.each([
      ['[1,2]', { error: 'Unknown command: undefined' }],
      ['7', { error: 'Unknown command: undefined' }],
      ['"get_state"', { error: 'Unknown command: undefined' }],
      ['{}', { error: 'Unknown command: undefined' }],
      ['{"id":"x","type":"nope"}', { command: 'nope', error: 'Unknown command: nope' }],
      ['{"id":"x","type":"toString"}', { command: 'toString', error: 'Unknown command: toString' }],
      [
        '{"type":"host_tool_result","id":"h","result":{}}',
        { command: 'host_tool_result', error: 'Unknown command: host_tool_result' },
      ],
    ])('that are not a command get an error without an id: %j', async (line, frame) => {
      const { client } = await openFixture([]);
      client.write(`${line}\n`);
      await client.ask('get_state');
      expect(client.lines[0]).toEqual({ type: 'response', success: false, ...frame });
    });

    it('that are not a command get an error with their id if the client requests it', async () => {
      const { client } = await openFixture([], { echoErrors: true });
      expect(await client.ask('nope')).toEqual({
        id: 'q1',
        type: 'response',
        command: 'nope',
        success: false,
        error: 'Unknown command: nope',
      });
    });
  });

  describe('ids', () => {
    it('are returned unchanged, and never as null', async () => {
      const { client } = await openFixture([]);
      client.send({ id: 7, type: 'abort' });
      client.send({ id: null, type: 'abort' });
      client.send({ type: 'abort' });
      await client.ask('get_state');
      expect(client.lines.slice(0, 3)).toEqual([
        { id: 7, type: 'response', command: 'abort', success: true },
        { type: 'response', command: 'abort', success: true },
        { type: 'response', command: 'abort', success: true },
      ]);
    });
  });

  describe('arguments', () => {
    it.each([
      ['prompt', {}],
      ['prompt', { message: 'x', images: [{ data: 1 }] }],
      ['prompt', { message: 'x', streamingBehavior: 'later' }],
      ['steer', { message: 5 }],
      ['bash', {}],
      ['set_steering_mode', { mode: 'some' }],
      ['set_interrupt_mode', { mode: 'now' }],
      ['set_auto_compaction', { enabled: 'yes' }],
      ['set_model', { provider: 'x' }],
      ['switch_session', {}],
      ['branch', {}],
      ['set_host_tools', {}],
      ['set_todos', {}],
      ['set_session_name', {}],
    ])('of %s that are invalid are refused with its id: %j', async (type, fields) => {
      const { client } = await openFixture([]);
      const refusal = await client.ask(type, fields);
      expect(refusal).toMatchObject({ id: 'q1', type: 'response', command: type, success: false });
      expect(refusal.error).toMatch(/\w+ needs|list|base64/);
      expect(client.lines).toHaveLength(1);
    });
  });

  describe('a client that misbehaves', () => {
    it('gets one error for every invalid line, and is still served', async () => {
      const { client } = await openFixture([]);
      const junk = fc.sample(
        fc.oneof(
          fc.string().map((text) => text.replaceAll(/[\r\n]/g, ' ')),
          fc.json(),
          fc.json().map((text) => text.slice(0, -1)),
          fc.string().map((type) => JSON.stringify({ type: `x${type}`, id: 1 })),
        ),
        { numRuns: 10_000, seed: 6 },
      );
      const sent = junk.filter((line) => line.trim() !== '');
      client.write(`${sent.join('\n')}\n`);
      expect(await client.ask('get_state')).toMatchObject({ success: true });
      expect(client.lines).toHaveLength(sent.length + 1);
      expect(
        client.lines.slice(0, -1).every(({ type, success }) => type === 'response' && success === false),
      ).toBe(true);
    });
  });
});

describe('FrameReader', () => {
  it('accepts a last line without a line end', async () => {
    const { client } = await inProcess([]);
    client.write(ASK);
    client.end();
    await client.served;
    expect(client.lines).toMatchObject([{ id: 's', success: true }]);
  });

  it('reports a line that is too long once, and skips it up to its end', () => {
    const frames = new FrameReader(1000);
    const pieces = [
      `{"type":"a"}\n${'x'.repeat(900)}`,
      'x'.repeat(900),
      `x\n{"type":"b"}\n{"ty`,
      'pe":"c"}\n',
    ];
    expect(pieces.flatMap((piece) => frames.push(Buffer.from(piece)))).toEqual([
      { value: { type: 'a' } },
      { malformed: 'a line is longer than 1000 characters' },
      { value: { type: 'b' } },
      { value: { type: 'c' } },
    ]);
  });

  it('returns at most one frame per line for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 40 }), (bytes, size) => {
        const frames = new FrameReader(100);
        let count = 0;
        for (let at = 0; at < bytes.length; at += size)
          count += frames.push(bytes.subarray(at, at + size)).length;
        count += frames.end().length;
        expect(count).toBeLessThanOrEqual(bytes.filter((byte) => byte === 10).length + 1);
      }),
    );
  });
});

import { chmodSync, existsSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hldSocketPath } from '../../../src/protocols/hld/index.ts';
import { scratch, hostFixture } from '../../pod/fixture.ts';
import { Client, hldFixture, openDoor } from './fixture.ts';

const HEALTH = '{"jsonrpc":"2.0","method":"health","id":1}';
const HEALTHY = '{"jsonrpc":"2.0","result":{"status":"ok","version":"0.1.0"},"id":1}';

describe('a request', () => {
  it.each([
    ['a call', HEALTH, HEALTHY],
    ['parameters that are null', '{"jsonrpc":"2.0","method":"health","params":null,"id":1}', HEALTHY],
    [
      'a large id',
      '{"jsonrpc":"2.0","method":"health","id":18446744073709551615}',
      HEALTHY.replace('"id":1', '"id":18446744073709551615'),
    ],
    ['no JSON', 'hello', '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}'],
    [
      'another version',
      '{"jsonrpc":"1.0","method":"health","id":"x"}',
      '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request: must be JSON-RPC 2.0"},"id":"x"}',
    ],
    [
      'a number',
      '7',
      '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request: must be an object"},"id":null}',
    ],
    [
      'an unknown method',
      '{"jsonrpc":"2.0","method":"nope","id":2}',
      '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found: nope"},"id":2}',
    ],
    [
      'no method',
      '{"jsonrpc":"2.0","id":2}',
      '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found: "},"id":2}',
    ],
    [
      'a missing field',
      '{"jsonrpc":"2.0","method":"getSessionState","id":2}',
      '{"jsonrpc":"2.0","error":{"code":-32602,"message":"session_id is required","data":{"field":"session_id"}},"id":2}',
    ],
    [
      'a field of the wrong type',
      '{"jsonrpc":"2.0","method":"launchSession","params":{"query":7},"id":2}',
      '{"jsonrpc":"2.0","error":{"code":-32602,"message":"invalid request: query must be a string, not the number 7","data":{"field":"query"}},"id":2}',
    ],
    [
      'positional parameters',
      '{"jsonrpc":"2.0","method":"launchSession","params":["hello"],"id":2}',
      '{"jsonrpc":"2.0","error":{"code":-32602,"message":"invalid request: params must be an object, not an array","data":{"field":"params"}},"id":2}',
    ],
    [
      'an unknown session',
      '{"jsonrpc":"2.0","method":"getSessionState","params":{"session_id":"x"},"id":2}',
      '{"jsonrpc":"2.0","error":{"code":-32603,"message":"failed to get session: session not found: x"},"id":2}',
    ],
    [
      'a batch',
      `[${HEALTH},{"jsonrpc":"2.0","method":"nope","id":2},{"jsonrpc":"2.0","method":"health"}]`,
      `[${HEALTHY},{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found: nope"},"id":2}]`,
    ],
    [
      'a subscription within a batch',
      '[{"jsonrpc":"2.0","method":"Subscribe","id":2}]',
      '[{"jsonrpc":"2.0","error":{"code":-32603,"message":"Subscribe needs a separate connection"},"id":2}]',
    ],
  ])('%s is answered, and the connection stays open', async (_, line, reply) => {
    const client = await (await hldFixture([])).client();
    expect(await client.exchange(line)).toBe(reply);
    expect(await client.exchange(HEALTH)).toBe(HEALTHY);
  });

  it('without an id is not answered', async () => {
    const client = await (await hldFixture([])).client();
    client.write('{"jsonrpc":"2.0","method":"health"}\n{"jsonrpc":"2.0","method":"nope"}\n\n  \n');
    expect(await client.exchange(HEALTH)).toBe(HEALTHY);
    expect(client.lines).toEqual([HEALTHY]);
  });

  it('is parsed however its bytes are split, and with CRLF', async () => {
    const client = await (await hldFixture([])).client();
    for (const char of `${HEALTH}\r\n`) client.write(char);
    expect(await client.line(0)).toBe(HEALTHY);
  });

  it('that is not UTF-8 gets a parse error', async () => {
    const client = await (await hldFixture([])).client();
    client.socket.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
    expect(await client.line(0)).toContain('-32700');
    expect(await client.exchange(HEALTH)).toBe(HEALTHY);
  });

  it('of 10 MiB is accepted; one of 17 MiB gets an error, and the next one is handled', async () => {
    const { client: open } = await hldFixture([]);
    const client = await open();
    const padded = (bytes: number) =>
      `{"jsonrpc":"2.0","method":"health","params":{"pad":"${'x'.repeat(bytes)}"},"id":1}`;
    expect(await client.exchange(padded(10 * 1024 * 1024))).toBe(HEALTHY);
    expect(await client.exchange(padded(17 * 1024 * 1024))).toBe(
      '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request: a line is longer than 16777216 bytes"},"id":null}',
    );
    expect(await client.exchange(HEALTH)).toBe(HEALTHY);
    expect(client.lines).toHaveLength(3);
  });

  it('is handled if its bytes arrive together with the end of a line that is too long', async () => {
    const client = await (await hldFixture([])).client();
    client.write(`${'x'.repeat(16 * 1024 * 1024 + 1)}\n${HEALTH}\n${HEALTH}\n`);
    expect(await client.line(2)).toBe(HEALTHY);
    expect(client.lines).toEqual([expect.stringContaining('-32600'), HEALTHY, HEALTHY]);
  });
});

describe('requests', () => {
  it('of one connection are answered in order, however long each takes', async () => {
    const { client: open } = await hldFixture([{ parts: [{ text: 'ok' }] }]);
    const client = await open();
    const calls = [
      '{"jsonrpc":"2.0","method":"launchSession","params":{"query":"hi"},"id":"first"}',
      ...Array.from({ length: 20 }, (_, id) => `{"jsonrpc":"2.0","method":"health","id":${id}}`),
    ];
    client.write(`${calls.join('\n')}\n`);
    await client.line(20);
    expect(client.lines.map((line) => JSON.parse(line).id)).toEqual([
      'first',
      ...Array.from({ length: 20 }, (_, id) => id),
    ]);
  });

  it('that were sent before the client ended its input are answered', async () => {
    const client = await (await hldFixture([])).client();
    client.socket.end(`${HEALTH}\n${HEALTH}`);
    await client.closed;
    expect(client.lines).toEqual([HEALTHY, HEALTHY]);
  });

  it('of other connections do not wait for a client that does not read', async () => {
    const { client: open, host, cwd } = await hldFixture([]);
    for (let count = 0; count < 20; count += 1)
      await host.create({ cwd, settings: { annotations: { hld: { query: 'x'.repeat(2_000) } } } });
    const nonReading = await open();
    nonReading.socket.pause();
    for (let count = 0; count < 400; count += 1)
      nonReading.write('{"jsonrpc":"2.0","method":"listSessions","id":1}\n');
    const other = await open();
    expect(await other.exchange(HEALTH)).toBe(HEALTHY);
    nonReading.socket.resume();
    await nonReading.line(399);
  });
});

it('for any input, every line except notifications gets one reply, and the next request is answered', async () => {
  const { client: open } = await hldFixture([]);
  const client = await open();
  const anything = fc.oneof(
    fc.json(),
    fc.string().map((text) => text.replaceAll(/[\r\n]/g, ' ')),
    fc
      .record({
        jsonrpc: fc.constant('2.0'),
        method: fc.constantFrom(
          'health',
          'listSessions',
          'getConversation',
          'sendDecision',
          'updateSessionSettings',
        ),
        params: fc.jsonValue(),
        id: fc.jsonValue(),
      })
      .map((call) => JSON.stringify(call)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(anything, { maxLength: 20 }), async (lines) => {
      const from = client.lines.length;
      client.write(`${lines.join('\n')}\n${HEALTH}\n`);
      const replies = lines.filter((line) => line.trim() !== '').length + 1;
      await client.line(from + replies - 1);
      expect(client.lines.slice(from)).toHaveLength(replies);
      expect(client.lines.at(-1)).toBe(HEALTHY);
    }),
    { numRuns: 50 },
  );
});

describe('the HLD socket', () => {
  it.each([
    [undefined, '/home/a/.humanlayer/daemon.sock'],
    ['', '/home/a/.humanlayer/daemon.sock'],
    ['~/x.sock', '/home/a/x.sock'],
    ['/run/x.sock', '/run/x.sock'],
    ['~other/x.sock', '~other/x.sock'],
  ])('for %s is %s', (wanted, path) => {
    expect(hldSocketPath(wanted, '/home/a')).toBe(path);
  });

  it('is accessible only to its owner, in a directory accessible only to its owner', async () => {
    const path = join(scratch(), 'new', 'daemon.sock');
    await hldFixture([], { hld: { socketPath: path } });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  });

  it('of a running daemon is left alone, and the door does not open', async () => {
    const { path, host, cwd, client } = await hldFixture([]);
    await expect(openDoor(host, path, cwd)).rejects.toThrow(`daemon already running at ${path}`);
    expect(await (await client()).exchange(HEALTH)).toBe(HEALTHY);
  });

  it('of a dead process is replaced, and its own is removed when the door closes', async () => {
    const { host, cwd } = await hostFixture([]);
    const path = join(scratch(), 'daemon.sock');
    // A server that closes removes its socket; one that is killed does not.
    const dead = createServer();
    await new Promise<void>((resolve) => dead.listen(path, resolve));
    renameSync(path, `${path}.kept`);
    await new Promise((resolve) => dead.close(resolve));
    renameSync(`${path}.kept`, path);
    const door = await openDoor(host, path, cwd);
    onTestFinished(() => door.close());
    expect(await (await Client.open(path)).exchange(HEALTH)).toBe(HEALTHY);
    await door.close();
    expect(existsSync(path)).toBe(false);
  });

  it('is not created over another file, or in a directory that others can read', async () => {
    const { host, cwd } = await hostFixture([]);
    const directory = scratch();
    writeFileSync(join(directory, 'file'), 'mine');
    await expect(openDoor(host, join(directory, 'file'), cwd)).rejects.toThrow('is not a socket');
    chmodSync(directory, 0o755);
    await expect(openDoor(host, join(directory, 'daemon.sock'), cwd)).rejects.toThrow('chmod 700');
  });
});

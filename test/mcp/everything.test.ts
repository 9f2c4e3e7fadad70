import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { beforeAll, describe, expect, test } from 'vitest';
import type { McpServerSpec } from '../../src/mcp/index.ts';
import { EVERYTHING, isAlive, openMcpFixture, type McpFixture, outputText, stdio } from './fixture.ts';

const TOOLS = [
  'mcp__everything__echo',
  'mcp__everything__get-annotated-message',
  'mcp__everything__get-env',
  'mcp__everything__get-resource-links',
  'mcp__everything__get-resource-reference',
  'mcp__everything__get-structured-content',
  'mcp__everything__get-sum',
  'mcp__everything__get-tiny-image',
  'mcp__everything__gzip-file-as-resource',
  'mcp__everything__toggle-simulated-logging',
  'mcp__everything__toggle-subscriber-updates',
  'mcp__everything__trigger-long-running-operation',
];

interface Reachable {
  readonly spec: McpServerSpec;
  readonly stop: () => Promise<void>;
}

/** The official test server over each of its transports. */
const OVER: Readonly<Record<string, () => Promise<Reachable>>> = {
  stdio: async () => ({ spec: stdio([EVERYTHING], { name: 'everything' }), stop: async () => {} }),
  'streamable HTTP': () => overHttp('streamableHttp', '/mcp'),
  'the SSE transport of 2024': () => overHttp('sse', '/sse'),
};

describe.each(Object.entries(OVER))('the everything server over %s', (transport, start) => {
  let { servers, statuses, call }: McpFixture = openMcpFixture([], tmpdir());

  beforeAll(async () => {
    const { spec, stop } = await start();
    ({ servers, statuses, call } = openMcpFixture([spec], tmpdir()));
    return async () => {
      await servers.close();
      await stop();
    };
  });

  test('lists its tools under model-visible names', async () => {
    const tools = await servers.tools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(TOOLS));
    const sum = tools.find(({ name }) => name === 'mcp__everything__get-sum');
    expect(sum).toMatchObject({
      description: 'Returns the sum of two numbers',
      parallel: true,
      parameters: { type: 'object', properties: { a: { type: 'number' } }, required: ['a', 'b'] },
    });
    expect(sum?.prepare({ a: 1, b: 2 }, '/')).toMatchObject({
      access: [{ type: 'foreign', readOnly: true }],
      title: 'everything: get-sum {"a":1,"b":2}',
    });
    const toggle = tools.find(({ name }) => name === 'mcp__everything__toggle-simulated-logging');
    expect(toggle).toMatchObject({ parallel: false });
    expect(servers.status()).toMatchObject([
      { state: 'ready', tools: tools.length, version: 'mcp-servers/everything 2.0.0' },
    ]);
  });

  test('answers calls', async () => {
    expect(await call('mcp__everything__echo', { message: 'Hé 世界' })).toEqual({
      summary: 'Echo: Hé 世界',
      content: [{ type: 'text', text: 'Echo: Hé 世界' }],
      isError: false,
      details: { server: 'everything', tool: 'echo' },
    });
    expect(outputText(await call('mcp__everything__get-sum', { a: 2, b: 40 }))).toBe(
      'The sum of 2 and 40 is 42.',
    );
  });

  test('returns an image', async () => {
    const { content, summary } = await call('mcp__everything__get-tiny-image');
    expect(content).toMatchObject([
      { type: 'text', text: "Here's the image you requested:" },
      { type: 'image', mediaType: 'image/png', data: expect.stringMatching(/^iVBOR/) },
      { type: 'text', text: 'The image above is the MCP logo.' },
    ]);
    expect(summary).toBe("Here's the image you requested:");
  });

  test('returns data, resources and links as text', async () => {
    const weather = await call('mcp__everything__get-structured-content', { location: 'Chicago' });
    expect(weather.details).toMatchObject({ structured: { temperature: expect.any(Number) } });
    expect(JSON.parse(outputText(weather))).toEqual(weather.details?.structured);
    expect(outputText(await call('mcp__everything__get-resource-reference', { resourceId: 1 }))).toContain(
      '[resource demo://resource/dynamic/text/1]\nResource 1',
    );
    expect(outputText(await call('mcp__everything__get-resource-links', { count: 1 }))).toContain(
      '[link to demo://resource/dynamic/blob/1, Blob Resource 1',
    );
  });

  test('reports progress', async () => {
    const updates: string[] = [];
    const output = await call(
      'mcp__everything__trigger-long-running-operation',
      { duration: 0.6, steps: 3 },
      { update: (text) => updates.push(text) },
    );
    // The last updates may arrive together with the answer.
    expect(updates[0]).toBe('1/3');
    expect(['1/3', '2/3', '3/3'].slice(0, updates.length)).toEqual(updates);
    expect(output.isError).toBe(false);
  });

  test('reports errors', async () => {
    const wrong = await call('mcp__everything__get-resource-reference', { resourceId: 1.5 });
    expect(wrong.isError).toBe(true);
    expect(outputText(wrong)).toContain('Invalid resourceId: 1.5');
  });

  test('is not called with invalid arguments', async () => {
    const problems =
      /Validation failed for tool "mcp__everything__get-sum":\n {2}- b: is missing\n {2}- a: must be number\n/;
    await expect(call('mcp__everything__get-sum', { a: 'two' })).rejects.toThrow(problems);
  });

  test('is notified of a cancelled call, and continues', async () => {
    const controller = new AbortController();
    const long = call(
      'mcp__everything__trigger-long-running-operation',
      { duration: 3600, steps: 36_000 },
      { signal: controller.signal, update: () => controller.abort() },
    );
    expect(await long).toMatchObject({ isError: true, summary: expect.stringContaining('was cancelled') });
    expect(outputText(await call('mcp__everything__echo', { message: 'still here' }))).toBe(
      'Echo: still here',
    );
    expect(servers.status()).toMatchObject([{ state: 'ready' }]);
  });

  test('ends when it is closed', async () => {
    await servers.tools();
    const [before] = servers.status();
    await servers.close();
    expect(servers.status()).toMatchObject([{ state: 'closed' }]);
    expect(statuses.map(({ state }) => state)).toEqual(
      expect.arrayContaining(['connecting', 'ready', 'closed']),
    );
    if (transport === 'stdio') expect(isAlive(before?.pid ?? 0)).toBe(false);
    else expect(before?.pid).toBeUndefined();
  });
});

/** Starts the server on a free loopback port, whatever address it would choose. */
async function overHttp(mode: string, path: string): Promise<Reachable> {
  const child = spawn(process.execPath, ['--import', ON_LOOPBACK, EVERYTHING, mode], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH },
  });
  const exit = once(child, 'exit');
  const url = `http://127.0.0.1:${await portOf(child)}${path}`;
  return {
    spec: { transport: 'http', name: 'everything', url, headers: {} },
    stop: async () => {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

const ON_LOOPBACK = `data:text/javascript,${encodeURIComponent(`
  import { Server } from 'node:net';
  const { listen } = Server.prototype;
  Server.prototype.listen = function (port, ...rest) {
    this.once('listening', () => console.error('listens on ' + this.address().port + '.'));
    return listen.call(this, { port: 0, host: '127.0.0.1' }, ...rest);
  };
`)}`;

function portOf({ stderr }: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    stderr?.setEncoding('utf8').on('data', (more: string) => {
      text += more;
      const [, port] = /listens on (\d+)\./.exec(text) ?? [];
      if (port !== undefined) resolve(port);
    });
  });
}

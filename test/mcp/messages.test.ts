import { readFileSync, statSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { outputText, StoppedClock, scripted, mcpFixture } from './fixture.ts';

describe('output outside the protocol', () => {
  test('on stderr is limited, and quoted in part when the server crashes', async () => {
    const code = `
      const line = 'x'.repeat(999) + '\\n';
      methods['tools/call'] = () => {
        for (let i = 0; i < 20_000; i += 1) process.stderr.write(line);
        process.stderr.write('out of memory\\n', () => process.exit(134));
      };
    `;
    const { call } = mcpFixture([scripted(code)], { clock: new StoppedClock() });
    const text = outputText(await call('mcp__test__echo'));
    expect(text).toContain('it ended with exit code 134; its last output was:\nxxx');
    expect(text).toContain('\nout of memory\nIt is unknown whether the call had an effect');
    expect(text.length).toBeLessThan(6000);
  });

  test('on stdout is ignored', async () => {
    const code = `
      console.log('Welcome to the server!');
      console.log('{"half": ');
      console.log(JSON.stringify({ level: 'info', text: 'JSON, but no message' }));
      console.log(JSON.stringify({ jsonrpc: '2.0', id: 999, result: {} }));
      console.log('');
    `;
    const { call } = mcpFixture([scripted(code)]);
    expect(outputText(await call('mcp__test__echo', { a: 1 }))).toBe('{"a":1}');
  });

  test('on stdout without a line end ends the server', async () => {
    const code = `methods['tools/call'] = () => void process.stdout.write('x'.repeat(11 * 1024 * 1024));`;
    const { call } = mcpFixture([scripted(code)], { clock: new StoppedClock() });
    expect(outputText(await call('mcp__test__echo'))).toContain('it sent a line of more than 10485760 bytes');
  });
});

test('a server that closes its input is lost', async () => {
  const code = `methods['tools/call'] = () => { closeSync(0); setInterval(() => {}, 1000); return text('deaf'); };`;
  const { call } = mcpFixture([scripted(code)], { clock: new StoppedClock() });
  expect(outputText(await call('mcp__test__echo'))).toBe('deaf');
  const output = await call('mcp__test__echo', { large: 'x'.repeat(1_000_000) });
  expect(output.isError).toBe(true);
  expect(outputText(output)).toMatch(/was lost during the call.*\n.* It restarts in 0.5 s/);
});

test('escape sequences of a server are removed from messages', async () => {
  const code = `
    methods['tools/call'] = ({ params }) => {
      if (!params.arguments.die) return text('\\u001b]0;mine\\u0007\\r\\u001b[31mred\\u001b[0m');
      process.stderr.write('\\u001b[31mred\\u001b[0m\\r\\n\\n\\tthe end\\u0007', () => process.exit(1));
    };
  `;
  const { servers, call } = mcpFixture([scripted(code)], { clock: new StoppedClock() });
  expect((await call('mcp__test__echo')).summary).not.toMatch(/\p{Cc}/u);
  await call('mcp__test__echo', { die: true });
  expect(servers.status()).toMatchObject([
    { error: 'it ended with exit code 1; its last output was:\nred\nthe end' },
  ]);
});

describe('the list of tools', () => {
  test('follows changes of the server', async () => {
    const code = `
      methods['tools/call'] = () => {
        tools = [tool('after'), tool('more')];
        send({ method: 'notifications/tools/list_changed' });
        return text('changed');
      };
    `;
    const { servers, call, until } = mcpFixture([scripted(code)]);
    await call('mcp__test__echo');
    expect(await until(({ tools }) => tools === 2)).toMatchObject({ state: 'ready' });
    expect((await servers.tools()).map(({ name }) => name)).toEqual(['mcp__test__after', 'mcp__test__more']);
  });

  test('of a server that announces a change on every request is fetched a limited number of times', async () => {
    const code = `
      methods['tools/list'] = () => (send({ method: 'notifications/tools/list_changed' }), { tools });
    `;
    const { servers } = mcpFixture([scripted(code)]);
    expect(await servers.tools()).toHaveLength(1);
  });

  test('is read to its last page, and not forever', async () => {
    const code = `
      methods['tools/list'] = ({ params }) => {
        const page = Number(params?.cursor ?? 0);
        return { tools: [tool('page' + page)], nextCursor: page < 2 ? String(page + 1) : '1' };
      };
    `;
    const { servers } = mcpFixture([scripted(code)]);
    expect((await servers.tools()).map(({ name }) => name)).toEqual([
      'mcp__test__page0',
      'mcp__test__page1',
      'mcp__test__page2',
    ]);
  });

  test('skips invalid tools', async () => {
    const code = `
      tools = [
        null, {}, { name: '' }, { name: 7 },
        { name: 'bare' },
        { name: 'odd', description: 5, inputSchema: 'none', outputSchema: {}, annotations: 'x' },
        tool('twice', { description: 'first' }), tool('twice', { description: 'second' }),
        tool('über/läufer', { title: 'Über', annotations: { readOnlyHint: true } }),
        tool('a.b'), tool('a_b'),
        tool('long-' + 'x'.repeat(100)),
      ];
      methods['tools/call'] = ({ params }) => text(params.name);
    `;
    const { servers, call } = mcpFixture([scripted(code)]);
    const tools = await servers.tools();
    expect(tools.map(({ name, description, parallel }) => [name, description, parallel])).toEqual([
      ['mcp__test__bare', 'The tool bare of the MCP server test.', false],
      ['mcp__test__odd', 'The tool odd of the MCP server test.', false],
      ['mcp__test__twice', 'first', false],
      ['mcp__test___ber_l_ufer', 'Über', true],
      [expect.stringMatching(/^mcp__test__a_b_[0-9a-f]{8}$/), expect.anything(), false],
      ['mcp__test__a_b', expect.anything(), false],
      [expect.stringMatching(/^mcp__test__long-x{39}_[0-9a-f]{8}$/), expect.anything(), false],
    ]);
    expect(outputText(await call('mcp__test___ber_l_ufer'))).toBe('über/läufer');
    for (const { name, parameters } of tools) {
      expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(parameters).toMatchObject({ type: 'object', properties: {} });
    }
  });

  test('of a server without tools is empty, and nothing is written to the console', async () => {
    const spied = (['log', 'debug', 'info', 'warn', 'error'] as const).map((name) => vi.spyOn(console, name));
    const code = `
      const { initialize } = methods;
      methods.initialize = (message) => ({ ...initialize(message), capabilities: {} });
    `;
    const { servers } = mcpFixture([scripted(code)]);
    expect(await servers.tools()).toEqual([]);
    expect(servers.status()).toMatchObject([{ state: 'ready', tools: 0 }]);
    for (const spy of spied) expect(spy).not.toHaveBeenCalled();
  });
});

describe('a call', () => {
  test('with arguments that are not an object is not sent', async () => {
    const { servers } = mcpFixture([scripted('')]);
    const [tool] = await servers.tools();
    expect(tool?.prepare('text', '/')).toEqual({
      invalid: 'The arguments of mcp__test__echo must be a JSON object.',
    });
    expect(tool?.prepare(undefined, '/')).toMatchObject({ title: 'test: echo' });
  });

  test('that is cancelled before it starts is not sent', async () => {
    const { call, servers } = mcpFixture([scripted(`methods['tools/call'] = () => process.exit(1);`)]);
    const output = await call('mcp__test__echo', {}, { signal: AbortSignal.abort() });
    expect(output).toMatchObject({ isError: true, summary: 'echo of the MCP server "test" was cancelled' });
    expect(servers.status()).toMatchObject([{ state: 'ready' }]);
  });

  test('that the server rejects reports the error', async () => {
    const error = `{ code: -32602, message: 'no such tool' }`;
    const { call } = mcpFixture([
      scripted(`methods['tools/call'] = ({ id }) => void send({ id, error: ${error} });`),
    ]);
    expect(await call('mcp__test__echo')).toMatchObject({
      isError: true,
      summary: 'echo of the MCP server "test" failed: no such tool',
    });
  });

  test('with a long result is truncated, and saved in full to a file', async () => {
    const code = `methods['tools/call'] = () => text('first line\\n' + 'y'.repeat(200_000));`;
    const { call } = mcpFixture([scripted(code)]);
    const output = await call('mcp__test__echo');
    const file = String(output.details?.outputFile);
    expect(readFileSync(file, 'utf8')).toHaveLength(200_011);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(output.summary).toBe('first line');
    expect(output.content).toEqual([
      { type: 'text', text: `first line\n${'y'.repeat(49_989)}` },
      { type: 'text', text: `[150011 more characters omitted; the full text is in ${file}]` },
    ]);
  });

  test.each([
    ['nothing', '{}'],
    ['content that is not a list', '{ content: 5 }'],
    ['no text in its content', '{ content: [{ type: "text", text: "" }, { type: "text" }] }'],
  ])('that returns %s reports no output', async (_, answer) => {
    const { call } = mcpFixture([scripted(`methods['tools/call'] = () => (${answer});`)]);
    expect(await call('mcp__test__echo')).toEqual({
      summary: '(no output)',
      content: [{ type: 'text', text: '(no output)' }],
      isError: false,
      details: { server: 'test', tool: 'echo' },
    });
  });
});

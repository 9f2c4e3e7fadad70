import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Extensions, type ExtensionUi } from '../../src/extensions/index.ts';
import type { Tool, ToolContext } from '../../src/tools/index.ts';

interface Loaded {
  readonly extensions: Extensions;
  readonly failures: readonly (readonly string[])[];
  readonly notices: readonly string[];
}

/** Loads modules like the program does, with a user who confirms everything. */
async function load(...codes: readonly string[]): Promise<Loaded> {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-extension-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const failures: string[][] = [];
  const notices: string[] = [];
  const ui: ExtensionUi = {
    select: async (_, [first]) => first,
    confirm: async () => true,
    input: async () => 'typed',
    editor: async (_, prefill) => prefill,
    notify: (message) => void notices.push(message),
    setStatus: () => {},
    setWidget: () => {},
    setTitle: () => {},
    setEditorText: () => {},
  };
  const extensions = new Extensions({
    cwd: directory,
    ui,
    send: (content, whenBusy) => void notices.push(`sent ${JSON.stringify(content)} ${whenBusy}`),
    shutdown: () => void notices.push('shutdown'),
    isIdle: () => true,
    abort: () => void notices.push('abort'),
    onError: (path, event, error) => void failures.push([path.split('/').at(-1) ?? '', event, error]),
  });
  for (const [at, code] of codes.entries()) {
    const file = join(directory, `extension-${at}.mjs`);
    writeFileSync(file, code);
    await extensions.load(file);
  }
  return { extensions, failures, notices };
}

const AROUND: ToolContext = {
  callId: 'c1',
  cwd: '/',
  env: {},
  scratch: '/',
  resolve: async (path) => path,
  sandbox: undefined,
  update: () => {},
};
const NEVER = new AbortController().signal;

async function call(tool: Tool | undefined, input: unknown) {
  const prepared = tool?.prepare(input, '/');
  if (prepared === undefined || 'invalid' in prepared) return prepared;
  return prepared.run(AROUND, NEVER);
}

const ADD = `export default (polypod) => polypod.registerTool({
  name: 'add', description: 'Adds.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  run: ({ a, b }) => String(a + b),
});`;

describe('a tool of an extension', () => {
  it('runs with arguments that match its schema', async () => {
    const { extensions } = await load(ADD);
    const [add] = extensions.tools;
    expect(await call(add, { a: 1, b: 2 })).toEqual({
      summary: 'add: done',
      content: [{ type: 'text', text: '3' }],
      isError: false,
    });
    expect(await call(add, { a: 1 })).toEqual({
      invalid: expect.stringContaining('b: is missing') as unknown,
    });
  });

  it('needs a schema and a valid name that is not taken', async () => {
    const bad = `export default (polypod) => polypod.registerTool({ name: 'a b', description: '', parameters: {}, run: () => '' });`;
    const { failures, extensions } = await load(bad, ADD, ADD);
    expect(failures).toEqual([
      ['extension-0.mjs', 'load', '"a b" is not a valid tool name: use letters, digits, _ and -'],
      ['extension-2.mjs', 'load', 'another extension has already registered a tool add'],
    ]);
    expect(extensions.tools.map(({ name }) => name)).toEqual(['add']);
  });

  it('is rejected with an invalid schema', async () => {
    const { failures } = await load(ADD.replace("type: 'number' }, b", "type: 'numeric' }, b"));
    expect(failures).toEqual([
      [
        'extension-0.mjs',
        'load',
        expect.stringMatching(
          /^the JSON Schema of the tool add cannot be used: properties\.a\.type: must be one of /,
        ),
      ],
    ]);
  });

  it('is validated with all keywords of JSON Schema', async () => {
    const { extensions } = await load(
      ADD.replace('required', "anyOf: [{ required: ['a'] }, { required: ['b'] }], x"),
    );
    expect(await call(extensions.tools[0], {})).toEqual({
      invalid: expect.stringContaining(
        'arguments: must match one of the alternatives: a: is missing, or b: is missing',
      ) as unknown,
    });
  });
});

describe('a hook of an extension', () => {
  const guard = (body: string) => `export default (polypod) => polypod.on('tool_call', ${body});`;

  it.each([
    [
      '({ name, input }) => name === "add" && input.a > 9 ? { deny: "too big" } : undefined',
      { a: 10, b: 1 },
      'too big',
    ],
    ['() => { throw new Error("broken"); }', { a: 1, b: 1 }, "an extension's tool_call hook failed: broken"],
  ])('denies a call: %s', async (body, input, text) => {
    const { extensions } = await load(ADD, guard(body));
    const [add] = extensions.extend([]);
    expect(await call(add, input)).toMatchObject({ content: [{ type: 'text', text }], isError: true });
  });

  it('without an answer lets the call run', async () => {
    const { extensions } = await load(ADD, guard('() => {}'));
    expect(await call(extensions.extend([])[0], { a: 1, b: 1 })).toMatchObject({ isError: false });
  });

  it('can cancel a session switch, and is ignored if it fails', async () => {
    const objects = `export default (p) => p.on('session_before_switch', ({ reason }) => ({ cancel: reason === 'new' }));`;
    const fails = `export default (p) => p.on('session_before_switch', () => { throw new Error('boom'); });`;
    const { extensions, failures } = await load(fails, objects);
    expect(await extensions.cancelsSwitch('new')).toBe(true);
    expect(await extensions.cancelsSwitch('fork')).toBe(false);
    expect(failures).toContainEqual(['extension-0.mjs', 'session_before_switch', 'boom']);
  });

  it.each([
    [
      '({ toolName, input }) => toolName === "add" && input.a > 9 ? { block: true, reason: "too big" } : {}',
      'too big',
    ],
    ['() => ({ block: true })', 'an extension blocked this call'],
    [
      '({ input }) => { input.a = 1; }',
      "an extension's tool_call hook failed: Cannot assign to read only property",
    ],
  ])('denies a call in pi’s format, and cannot change it: %s', async (body, text) => {
    const { extensions } = await load(ADD, guard(body));
    const [add] = extensions.extend([]);
    expect(await call(add, { a: 10, b: 1 })).toMatchObject({
      content: [{ type: 'text', text: expect.stringContaining(text) as unknown }],
      isError: true,
    });
  });

  it('can change the result of a tool', async () => {
    const change = `export default (pi) => pi.on('tool_result', ({ toolName, content, isError }) => ({
      content: [{ type: 'text', text: toolName + ' said ' + content[0].text }], isError: !isError }));`;
    const { extensions } = await load(ADD, change);
    const [add] = extensions.extend([]);
    expect(await call(add, { a: 1, b: 1 })).toMatchObject({
      content: [{ type: 'text', text: 'add said 2' }],
      isError: true,
    });
  });

  it('receives copies of the client’s events, with turn numbers', async () => {
    const listen = `export default (pi) => {
      for (const name of ['turn_start', 'turn_end', 'agent_end'])
        pi.on(name, (event, ctx) => { ctx.ui.notify(name + ' ' + event.turnIndex); event.messages?.pop(); });
    }`;
    const { extensions, notices } = await load(listen);
    const end = { type: 'agent_end', messages: [1] };
    for (const type of ['agent_start', 'turn_start', 'turn_end', 'turn_start']) extensions.observe({ type });
    extensions.observe(end);
    expect(notices).toEqual(['turn_start 0', 'turn_end 0', 'turn_start 1', 'agent_end undefined']);
    expect(end.messages).toEqual([1]);
  });

  it('must be registered for an existing event', async () => {
    const { failures } = await load(`export default (p) => p.on('sunrise', () => {});`);
    expect(failures).toEqual([
      [
        'extension-0.mjs',
        'load',
        expect.stringContaining('on("sunrise") does not work in Polypod') as unknown,
      ],
    ]);
  });
});

describe('a command of an extension', () => {
  it('is called with the text after its name', async () => {
    const { extensions, notices } = await load(
      `export default (p) => { p.registerCommand('say', { description: 'Says.', handler: (args) => p.send(args) });
       p.registerCommand('end', { handler: () => p.shutdown() }); }`,
    );
    expect(extensions.run('say', 'hello there')).toBe(true);
    expect(extensions.run('end', '')).toBe(true);
    expect(extensions.run('other', '')).toBe(false);
    expect(notices).toEqual(['sent [{"type":"text","text":"hello there"}] followUp', 'shutdown']);
    expect(extensions.commands).toMatchObject([{ name: 'say', description: 'Says.' }, { name: 'end' }]);
  });
});

describe('a part of pi’s API that is missing', () => {
  it.each([
    ['pi.registerShortcut("x", {})', 'pi.registerShortcut() does not work in Polypod'],
    ['pi.registerProvider("x", {})', 'pi.registerProvider() does not work in Polypod'],
    ['pi.events.on("x", () => {})', 'pi.events does not work in Polypod'],
    ['pi.on("before_agent_start", () => {})', 'on("before_agent_start") does not work in Polypod'],
  ])('throws an error with its name: %s', async (code, message) => {
    const { failures } = await load(`export default (pi) => { ${code}; }`);
    expect(failures).toEqual([['extension-0.mjs', 'load', expect.stringContaining(message) as unknown]]);
  });

  it.each([
    ['ctx.sessionManager.getEntries()', 'ctx.sessionManager does not work in Polypod'],
    ['ctx.newSession()', 'ctx.newSession() does not work in Polypod'],
  ])('throws an error with its name in a handler: %s', async (code, message) => {
    const { extensions, failures } = await load(
      `export default (pi) => pi.registerCommand('try', { handler: (args, ctx) => { ${code}; } });`,
    );
    extensions.run('try', '');
    await new Promise((resolve) => setImmediate(resolve));
    expect(failures).toEqual([['command:try', 'command', expect.stringContaining(message) as unknown]]);
  });
});

describe('a module', () => {
  it.each([
    ['export const x = 1;', /has no default export that is a function/],
    ['export default () => { throw new Error("no"); }', /^no$/],
    ['syntax error here', /./],
  ])('that is not an extension is reported: %s', async (code, reason) => {
    const { failures } = await load(code);
    expect(failures).toHaveLength(1);
    expect(failures[0]?.[2]).toMatch(reason);
  });
});

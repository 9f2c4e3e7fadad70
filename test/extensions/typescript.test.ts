import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../cli/polypod.ts';
import { Program } from '../protocols/rpc/program.ts';

/** Writes files into a new directory and returns the path of the first. */
function written(files: Readonly<Record<string, string>>): string {
  const directory = temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(directory, name, '..'), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return join(directory, Object.keys(files)[0] ?? '');
}

/** One of pi's examples, in a directory without pi's packages. */
function example(name: string): string {
  const file = `node_modules/@mariozechner/pi-coding-agent/examples/extensions/${name}`;
  return written({ [name]: readFileSync(file, 'utf8') });
}

const extended = (...files: readonly string[]): Program =>
  new Program(['--model', 'sim/offline', '--no-session', ...files.flatMap((file) => ['-e', file])]);

const answer = (program: Program, id: unknown, reply: object): void =>
  program.send({ type: 'extension_ui_response', id, ...reply });

describe('an extension in TypeScript, in the built program', () => {
  it('can have types, enums, parameter properties and imports without a file extension', async () => {
    const file = written({
      'extension.ts': `
        import type { ExtensionAPI } from '@mariozechner/pi-coding-agent';
        import { Type } from 'typebox';
        import { Greeter } from './greeter';
        enum Tone { Loud = 'LOUD' }
        export default function (pi: ExtensionAPI): void {
          console.log('this is for people, not for the protocol');
          pi.registerTool({
            name: 'greet', label: 'Greet', description: 'Greets.',
            parameters: Type.Object({ name: Type.String(), times: Type.Optional(Type.Integer()) }),
            async execute(id: string, { name }: { name: string }, signal, onUpdate) {
              onUpdate?.({ content: [{ type: 'text', text: 'thinking of a greeting' }], details: {} });
              const text = new Greeter(Tone.Loud).greet(name) satisfies string;
              return { content: [{ type: 'text', text }], details: { tone: Tone.Loud } };
            },
          });
        }`,
      'greeter.ts': `export class Greeter {
        constructor(private readonly tone: string) {}
        greet(name: string): string { return this.tone + ' hello, ' + name; }
      }`,
    });
    const program = extended(file);
    const lines = await program.run(`[[sim tool=greet args='{"name":"Ada"}']]`);
    expect(lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
      isError: false,
      result: { content: [{ type: 'text', text: 'LOUD hello, Ada' }], details: { tone: 'LOUD' } },
    });
    expect(lines.filter(({ type }) => type === 'tool_execution_update')).toMatchObject([
      { partialResult: { content: [{ type: 'text', text: 'thinking of a greeting' }] } },
    ]);
    const wrong = await program.run(`[[sim tool=greet args='{"name":7}']]`);
    expect(JSON.stringify(wrong)).toContain('name: must be string');
    const { stderr } = await program.end();
    expect(stderr).toContain('this is for people, not for the protocol');
    expect(readdirSync(join(file, '..'))).toEqual(['extension.ts', 'greeter.ts']);
  });

  it('can be a directory', async () => {
    const file = written({
      'index.ts': `export default (pi: any) => pi.registerCommand('here', { handler: async () => {} });`,
    });
    const program = extended(join(file, '..'));
    expect(await program.get('get_commands')).toMatchObject({ commands: [{ name: 'here' }] });
  });

  it.each([
    [
      'import { Text } from "@mariozechner/pi-tui"; new Text("x")',
      'Text of @mariozechner/pi-tui does not work',
    ],
    ['import { Type } from "typebox"; Type.Tuple([])', 'Type.Tuple does not work in Polypod without TypeBox'],
    ['import { x } from "no-such-package"; x()', 'no-such-package'],
    ['const x: = 1', 'extension.ts'],
  ])('that fails to load is reported, and the others still load: %s', async (code, message) => {
    const file = written({ 'extension.ts': `${code}; export default (pi: any): void => {};` });
    const program = extended(file);
    expect(await program.waitFor(({ type }) => type === 'extension_error')).toMatchObject({
      extensionPath: file,
      event: 'load',
      error: expect.stringContaining(message) as unknown,
    });
    expect(await program.ask('get_state')).toMatchObject({ success: true });
  });
});

describe("pi's own examples, in the built program", () => {
  it('hello.ts registers a tool', async () => {
    const lines = await extended(example('hello.ts')).run(`[[sim tool=hello args='{"name":"Ada"}']]`);
    expect(lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
      isError: false,
      result: { content: [{ type: 'text', text: 'Hello, Ada!' }], details: { greeted: 'Ada' } },
    });
  });

  it('rpc-demo.ts asks questions, blocks calls, and shows its status', async () => {
    const program = extended(example('rpc-demo.ts'));
    expect(await program.waitFor(({ method }) => method === 'setWidget')).toMatchObject({
      widgetKey: 'rpc-demo',
      widgetLines: ['--- RPC Extension UI Demo ---', 'Loaded and ready.'],
    });
    const running = program.run(`[[sim tool=bash args='{"command":"sudo rm -rf nothing"}']]`);
    const select = await program.waitFor(({ method }) => method === 'select');
    expect(select).toMatchObject({
      title: 'Dangerous command: sudo rm -rf nothing',
      options: ['Allow', 'Block'],
    });
    answer(program, select.id, { value: 'Block' });
    const lines = await running;
    expect(lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
      isError: true,
      result: { content: [{ type: 'text', text: 'Blocked by user' }] },
    });
    expect(lines.filter(({ method }) => method === 'setStatus').map(({ statusText }) => statusText)).toEqual(
      expect.arrayContaining(['Turn 1 running...', 'Turn 1 done']),
    );
    program.send({ id: 'new', type: 'new_session' });
    const confirm = await program.waitFor(({ method }) => method === 'confirm');
    answer(program, confirm.id, { confirmed: false });
    expect(await program.waitFor(({ id }) => id === 'new')).toMatchObject({ data: { cancelled: true } });
    program.send({ type: 'prompt', message: '/rpc-input' });
    const input = await program.waitFor(({ method }) => method === 'input');
    answer(program, input.id, { value: 'something' });
    await program.waitFor(({ message }) => message === 'You entered: something');
  });

  it('send-user-message.ts sends messages to the idle and to the busy agent', async () => {
    const program = extended(example('send-user-message.ts'));
    program.send({ type: 'prompt', message: '/ask [[sim text=first]]' });
    await program.waitFor(({ type }) => type === 'agent_settled');
    program.send({ type: 'prompt', message: '/askwith [[sim deltas=2000 delay=5]]' });
    await program.waitFor(({ type }) => type === 'message_update', program.lines.length);
    program.send({ type: 'prompt', message: '/ask again' });
    await program.waitFor(({ message }) => String(message).startsWith('Agent is busy'));
    await program.ask('prompt', { message: '/followup later' });
    await program.waitFor(({ message }) => message === 'Follow-up queued');
    while ((await program.get('get_state')).queuedMessageCount !== 1);
    await program.ask('abort');
  });

  it('status-line.ts and timed-confirm.ts work although hosts cannot show all their output', async () => {
    const program = extended(example('status-line.ts'), example('timed-confirm.ts'));
    expect(await program.waitFor(({ method }) => method === 'setStatus')).toMatchObject({
      statusText: 'Ready',
    });
    program.send({ type: 'prompt', message: '/timed' });
    const confirm = await program.waitFor(({ method }) => method === 'confirm');
    answer(program, confirm.id, { confirmed: true });
    await program.waitFor(({ method }) => method === 'notify');
    expect(program.lines.filter(({ type }) => type === 'extension_error')).toEqual([]);
  });
});

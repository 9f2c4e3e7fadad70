import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { arrayOf, type JsonObject, stringOf } from '../../../../src/base/index.ts';
import { killAndWait } from '../../../cli/polypod.ts';
import { calls, type EditorOptions, projectFixture, resultsFor, answers } from './editor.ts';

/** The terminals of an editor: each is a process. */
class EditorTerminals {
  readonly children: ChildProcess[] = [];
  readonly released: string[] = [];
  readonly #outputs: string[] = [];

  readonly handlers: NonNullable<EditorOptions['handlers']> = {
    'terminal/create': ({ command, args, cwd }) => {
      // As some editors do, the arguments are joined for a shell.
      const line = [command, ...arrayOf(args)].map(stringOf).join(' ');
      const child = spawn('sh', ['-c', line], {
        cwd: stringOf(cwd),
        env: { PATH: process.env.PATH, FROM_EDITOR: 'yes' },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      onTestFinished(() => killAndWait(child));
      const id = this.children.push(child) - 1;
      this.#outputs.push('');
      for (const stream of [child.stdout, child.stderr])
        stream?.setEncoding('utf8').on('data', (text: string) => {
          this.#outputs[id] += text.replaceAll('\n', '\r\n');
        });
      return { terminalId: String(id) };
    },
    'terminal/wait_for_exit': async (params) => {
      const child = this.#child(params);
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
      return { exitCode: child.exitCode, signal: child.signalCode };
    },
    'terminal/output': (params) => ({
      output: `\x1b[32m${this.#outputs[Number(params.terminalId)]}\x1b[0m`,
      truncated: false,
    }),
    'terminal/kill': (params) => {
      const { pid } = this.#child(params);
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
      return {};
    },
    'terminal/release': ({ terminalId }) => {
      this.released.push(stringOf(terminalId));
      return {};
    },
  };

  #child({ terminalId }: JsonObject): ChildProcess {
    const child = this.children[Number(terminalId)];
    if (child === undefined) throw new Error(`there is no terminal ${stringOf(terminalId)}`);
    return child;
  }
}

const CAPABILITIES = { terminal: true };
const ARGS = ['--terminals'];

describe.each([
  ['without a daemon', false],
  ['through a daemon', true],
])('with --terminals, a command, %s', (_, daemon) => {
  test('runs in a terminal of the editor, which is shown in its call until it is released', async () => {
    const command = 'touch made; echo "it\'s $FROM_EDITOR"; exit 3';
    const project = await projectFixture([calls('bash', { command }), answers('done')], { daemon });
    const terminals = new EditorTerminals();
    const editor = await project.editor({
      args: ARGS,
      capabilities: CAPABILITIES,
      handlers: terminals.handlers,
    });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(resultsFor(project.sim)).toEqual(["it's yes\n[exit code 3]"]);
    expect(existsSync(project.path('made'))).toBe(true);
    expect(terminals.released).toEqual(['0']);
    const contents = editor.updates.flatMap(({ toolCallId, content }) =>
      toolCallId === 'call_1' && content !== undefined ? [content] : [],
    );
    expect(contents).toEqual([[{ type: 'terminal', terminalId: '0' }]]);
    expect(editor.end()).toMatchObject({ status: 'failed' });
  });
});

describe('a command of an editor with terminals', () => {
  test('is ended and its terminal released when the run is cancelled', async () => {
    const command = 'touch started; sleep 1000';
    const project = await projectFixture([calls('bash', { command }), answers('done')]);
    const terminals = new EditorTerminals();
    const editor = await project.editor({
      args: ARGS,
      capabilities: CAPABILITIES,
      handlers: terminals.handlers,
    });
    const sessionId = await editor.newSession(project.cwd);
    const stopped = editor.prompt(sessionId);
    await expect.poll(() => existsSync(project.path('started'))).toBe(true);
    await editor.agent.notify('session/cancel', { sessionId });
    expect(await stopped).toBe('cancelled');
    await expect.poll(() => terminals.released).toEqual(['0']);
    await expect.poll(() => terminals.children[0]?.signalCode).toBe('SIGKILL');
  });

  test('is ended when its time is over', async () => {
    const script = [calls('bash', { command: 'touch a; sleep 1000', timeout: 1 }), answers('done')];
    const project = await projectFixture(script);
    const terminals = new EditorTerminals();
    const editor = await project.editor({
      args: ARGS,
      capabilities: CAPABILITIES,
      handlers: terminals.handlers,
    });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(resultsFor(project.sim)[0]).toContain('[not done after 1 second, so the editor ended it]');
    expect(terminals.released).toEqual(['0']);
  });

  test.each([
    ['without --terminals', { args: [] }, 'touch a'],
    ['if nobody approved it', { args: ARGS }, 'ls'],
    ['if the editor has no terminals', { args: ARGS, capabilities: {} }, 'touch a'],
  ])('runs in our own process %s', async (_, options, command) => {
    const project = await projectFixture([calls('bash', { command }), answers('done')]);
    const terminals = new EditorTerminals();
    const editor = await project.editor({
      capabilities: CAPABILITIES,
      handlers: terminals.handlers,
      ...options,
    });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(editor.asked('terminal/create')).toEqual([]);
    expect(editor.end()).toMatchObject({ status: 'completed' });
  });

  test('runs in our own process if the editor opens no terminal', async () => {
    const project = await projectFixture([calls('bash', { command: 'touch a' }), answers('done')]);
    const editor = await project.editor({ args: ARGS, capabilities: CAPABILITIES });
    await editor.prompt(await editor.newSession(project.cwd));
    expect(editor.asked('terminal/create')).toHaveLength(1);
    expect(existsSync(project.path('a'))).toBe(true);
  });

  test('is not run in read-only mode', async () => {
    const project = await projectFixture([calls('bash', { command: 'touch a' }), answers('done')]);
    const terminals = new EditorTerminals();
    const editor = await project.editor({
      args: ARGS,
      capabilities: CAPABILITIES,
      handlers: terminals.handlers,
    });
    const sessionId = await editor.newSession(project.cwd);
    await editor.agent.request('session/set_mode', { sessionId, modeId: 'read-only' });
    await editor.prompt(sessionId);
    expect(editor.asked('terminal/create')).toEqual([]);
    expect(existsSync(project.path('a'))).toBe(false);
  });
});

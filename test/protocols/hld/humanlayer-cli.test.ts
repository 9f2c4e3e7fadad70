import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { objectOf, stringOf } from '../../../src/base/index.ts';
import { scratch } from '../../pod/stage.ts';
import { hldStage, launch, says } from './stage.ts';

/** The HumanLayer CLI from npm, where it is installed. */
const cli = ((): string | undefined => {
  try {
    return join(
      dirname(createRequire(import.meta.url).resolve('humanlayer/package.json')),
      'dist',
      'index.js',
    );
  } catch {
    return undefined;
  }
})();

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn(process.execPath, [cli ?? '', ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: scratch(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

async function outcome(
  child: ChildProcess,
): Promise<{ readonly code: number | null; readonly output: string }> {
  let output = '';
  child.stdout?.on('data', (text: Buffer) => (output += text.toString()));
  child.stderr?.on('data', (text: Buffer) => (output += text.toString()));
  child.stdin?.end();
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

/** A client of the MCP server that runs in a child process. */
class Mcp {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (message: unknown) => void>();
  #nextId = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
    if (child.stdout === null) throw new Error('the child has no output');
    createInterface(child.stdout).on('line', (line) => {
      const message: unknown = JSON.parse(line);
      this.#waiting.get(Number(objectOf(message).id))?.(objectOf(message).result);
    });
  }

  send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  request(method: string, params: object): Promise<unknown> {
    const id = (this.#nextId += 1);
    this.send({ method, params, id });
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  async ask(tool_name: string, tool_use_id: string): Promise<unknown> {
    const args = { tool_name, input: { command: 'ls' }, tool_use_id };
    const result = await this.request('tools/call', { name: 'request_permission', arguments: args });
    const [content] = objectOf(result).content as readonly { readonly text: string }[];
    return JSON.parse(content?.text ?? '');
  }
}

describe.skipIf(cli === undefined)('the HumanLayer CLI', () => {
  it('launches a session with its options', async () => {
    const stage = await hldStage([says('Hello.')]);
    const ear = await stage.subscriber();
    const { code, output } = await outcome(
      run([
        'launch',
        'say hello',
        '--daemon-socket',
        stage.path,
        '-m',
        'haiku',
        '-t',
        'From the CLI',
        '-w',
        stage.cwd,
        '--max-turns',
        '3',
      ]),
    );
    expect(output).toContain('Session launched successfully!');
    expect(code).toBe(0);
    const id = /Session ID: (\S+)/.exec(output)?.[1] ?? '';
    await ear.hearStatus(id, 'completed');
    const { session } = objectOf(await (await stage.client()).call('getSessionState', { session_id: id }));
    expect(session).toMatchObject({
      query: 'say hello',
      title: 'From the CLI',
      working_dir: stage.cwd,
      status: 'completed',
    });
  });

  it('is told why a launch is refused', async () => {
    const stage = await hldStage([]);
    const wrong = await outcome(run(['launch', 'x', '--daemon-socket', stage.path, '-w', '/no/where']));
    expect(wrong).toMatchObject({
      code: 1,
      output: expect.stringContaining('working directory does not exist: /no/where'),
    });
  });

  it('gets approvals through its MCP server: one approved, one denied, both asked at once', async () => {
    const stage = await hldStage([says('ok')]);
    const { session_id, client, ear } = await launch(stage, { query: 'hi' }, 'completed');
    const server = (): Mcp =>
      new Mcp(
        run(['mcp', 'claude_approvals'], {
          HUMANLAYER_SESSION_ID: session_id,
          HUMANLAYER_DAEMON_SOCKET: stage.path,
        }),
      );
    // Its server takes one question at a time: two of them, as two sessions of Claude Code would have.
    const [one, other] = [server(), server()];
    for (const mcp of [one, other]) {
      await mcp.request('initialize', {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      });
      mcp.send({ method: 'notifications/initialized' });
    }
    const answers = Promise.all([one.ask('Bash', 'toolu_1'), other.ask('Write', 'toolu_2')]);
    const asked = async (tool: string) =>
      stringOf(
        (await ear.hear(({ type, data }) => type === 'new_approval' && data.tool_name === tool)).data
          .approval_id,
      );
    await client.call('sendDecision', { approval_id: await asked('Bash'), decision: 'approve' });
    await client.call('sendDecision', {
      approval_id: await asked('Write'),
      decision: 'deny',
      comment: 'Not now.',
    });
    expect(await answers).toEqual([
      { behavior: 'allow', updatedInput: { command: 'ls' } },
      { behavior: 'deny', message: 'Not now.' },
    ]);
  });
});

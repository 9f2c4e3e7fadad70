import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { arrayOf, objectOf, stringOf } from '../../../src/base/index.ts';
import { call, textAnswer, type CliFixture, cliFixture } from '../../cli/daemon.ts';
import { Client, pendingApproval } from './fixture.ts';

const require = createRequire(import.meta.url);

/** The HumanLayer CLI from npm: `humanlayer`, and `hlyr`, which is the same program. */
const CLI = require.resolve('humanlayer/dist/index.js');

/** Runs it as the user of our daemon: it connects to its default socket. */
function humanlayer(
  { home }: CliFixture,
  args: readonly string[],
  env: Record<string, string> = {},
): ChildProcess {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: home, ...env },
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

async function launched(fixture: CliFixture, ...args: readonly string[]): Promise<string> {
  const { code, output } = await outcome(humanlayer(fixture, ['launch', ...args]));
  expect(output).toContain('Session launched successfully!');
  expect(code).toBe(0);
  return /Session ID: (\S+)/.exec(output)?.[1] ?? '';
}

const socketOf = ({ home }: CliFixture): string => join(home, '.humanlayer/daemon.sock');

async function clients(
  fixture: CliFixture,
): Promise<{ readonly client: Client; readonly subscriber: Client }> {
  const path = socketOf(fixture);
  const [client, subscriber] = [await Client.open(path), await Client.open(path)];
  subscriber.send({ jsonrpc: '2.0', method: 'Subscribe', params: {}, id: 1 });
  await subscriber.line(0);
  return { client, subscriber };
}

/** A client of `hlyr mcp claude_approvals`, like Claude Code. */
class Mcp {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (message: unknown) => void>();
  #nextId = 0;

  static async open(fixture: CliFixture, sessionId: string): Promise<Mcp> {
    const env = { HUMANLAYER_SESSION_ID: sessionId, HUMANLAYER_DAEMON_SOCKET: socketOf(fixture) };
    const mcp = new Mcp(humanlayer(fixture, ['mcp', 'claude_approvals'], env));
    await mcp.request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    mcp.#send({ method: 'notifications/initialized' });
    return mcp;
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    if (child.stdout === null) throw new Error('the child has no output');
    createInterface(child.stdout).on('line', (line) => {
      const message = objectOf(JSON.parse(line));
      this.#waiting.get(Number(message.id))?.(message.result);
    });
  }

  request(method: string, params: object): Promise<unknown> {
    const id = (this.#nextId += 1);
    this.#send({ method, params, id });
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  async ask(tool_name: string, tool_use_id: string): Promise<unknown> {
    const args = { tool_name, input: { command: 'ls' }, tool_use_id };
    const result = objectOf(
      await this.request('tools/call', { name: 'request_permission', arguments: args }),
    );
    return JSON.parse(stringOf(objectOf(arrayOf(result.content)[0]).text));
  }

  #send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}

describe('the HumanLayer CLI with our daemon', () => {
  it('launches a session with its options', async () => {
    const fixture = await cliFixture([textAnswer('Hello.')]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const id = await launched(
      fixture,
      'say hello',
      ...['-m', 'haiku', '-t', 'From the CLI', '-w', fixture.project, '--max-turns', '3'],
    );
    await subscriber.waitForStatus(id, 'completed');
    expect(await client.call('getSessionState', { session_id: id })).toMatchObject({
      session: {
        query: 'say hello',
        title: 'From the CLI',
        model: 'haiku',
        working_dir: fixture.project,
        status: 'completed',
      },
    });
    expect((await fixture.polypod('sessions', 'show', 'From the CLI')).stdout).toContain('answered  Hello.');
  });

  it('launches a session whose calls are approved by a person with another tool', async () => {
    const fixture = await cliFixture([call('bash', { command: 'node -e 1' }), textAnswer('Done.')]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const id = await launched(fixture, 'do it', '-w', fixture.project);
    await subscriber.waitForStatus(id, 'waiting_input');
    expect(await fixture.polypod('approvals', 'approve', await pendingApproval(client, id))).toMatchObject({
      code: 0,
    });
    await subscriber.waitForStatus(id, 'completed');
  });

  it('prints why a launch is refused', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    const wrong = await outcome(humanlayer(fixture, ['launch', 'x', '-w', '/no/where']));
    expect(wrong).toMatchObject({
      code: 1,
      output: expect.stringContaining('working directory does not exist: /no/where'),
    });
  });

  it('gets approvals through its MCP server: one approved, one denied, requested concurrently', async () => {
    const fixture = await cliFixture([textAnswer('ok')]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const id = await launched(fixture, 'hi', '-w', fixture.project);
    await subscriber.waitForStatus(id, 'completed');
    // Its server handles one request at a time, so there are two, as with two sessions of Claude Code.
    const [one, other] = await Promise.all([Mcp.open(fixture, id), Mcp.open(fixture, id)]);
    const answers = Promise.all([one.ask('Bash', 'toolu_1'), other.ask('Write', 'toolu_2')]);
    const asked = async (tool: string) =>
      stringOf(
        (await subscriber.waitFor(({ type, data }) => type === 'new_approval' && data.tool_name === tool))
          .data.approval_id,
      );
    await client.call('sendDecision', { approval_id: await asked('Bash'), decision: 'approve' });
    const deny = await fixture.polypod('approvals', 'deny', await asked('Write'), '-m', 'Not now.');
    expect(deny).toMatchObject({ code: 0 });
    expect(await answers).toEqual([
      { behavior: 'allow', updatedInput: { command: 'ls' } },
      { behavior: 'deny', message: 'Not now.' },
    ]);
  });
});

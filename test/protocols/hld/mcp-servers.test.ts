import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { objectOf, stringOf } from '../../../src/base/index.ts';
import { call, textAnswer, type CliFixture, cliFixture } from '../../cli/daemon.ts';
import { scripted } from '../../mcp/fixture.ts';
import { ADA, promptCommand } from '../../pod/fixture.ts';
import {
  Client,
  hldFixture,
  launch,
  type Launched,
  pendingApproval,
  textAnswer as answers,
} from './fixture.ts';

/** The HumanLayer CLI from npm. */
const CLI = createRequire(import.meta.url).resolve('humanlayer/dist/index.js');

async function clients({
  home,
}: CliFixture): Promise<{ readonly client: Client; readonly subscriber: Client }> {
  const path = join(home, '.humanlayer/daemon.sock');
  const [client, subscriber] = [await Client.open(path), await Client.open(path)];
  subscriber.send({ jsonrpc: '2.0', method: 'Subscribe', params: {}, id: 1 });
  await subscriber.line(0);
  return { client, subscriber };
}

/** Requests permission as the CLI of 2025 did: with only the run id, on a new connection per request. */
const APPROVALS_OF_2025 = `
const rpc = (method, params) => new Promise((resolve, reject) => {
  const socket = connect(process.env.HUMANLAYER_DAEMON_SOCKET);
  socket.on('error', reject);
  socket.write(JSON.stringify({ jsonrpc: '2.0', method, params, id: 1 }) + '\\n');
  createInterface({ input: socket }).on('line', (line) => {
    socket.destroy();
    const { result, error } = JSON.parse(line);
    if (error) reject(new Error(error.message)); else resolve(result);
  });
});
tools = [tool('request_permission')];
methods['tools/call'] = async ({ params: { arguments: { tool_name, input } } }) => {
  try {
    const { approval_id } = await rpc('createApproval', { run_id: process.env.HUMANLAYER_RUN_ID, tool_name, tool_input: input });
    for (;;) {
      const { approval } = await rpc('getApproval', { approval_id });
      if (approval.status === 'approved') return text(JSON.stringify({ behavior: 'allow', updatedInput: input }));
      if (approval.status !== 'pending') return text(JSON.stringify({ behavior: 'deny', message: approval.comment }));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } catch (error) {
    return text(JSON.stringify({ behavior: 'deny', message: String(error) }));
  }
};
`;

const serverOf = ({ command, args }: { readonly command: string; readonly args: readonly string[] }) => ({
  mcpServers: { approvals: { command, args } },
});

describe("a client's MCP server in mcp_config", () => {
  it.each([
    [
      'the approvals server of the HumanLayer CLI',
      () => serverOf({ command: process.execPath, args: [CLI, 'mcp', 'claude_approvals'] }),
    ],
    ['an approvals server that knows the run only', () => serverOf(scripted(APPROVALS_OF_2025))],
  ])('%s requests approvals on the socket that it receives', async (_, config) => {
    const fixture = await cliFixture([
      call('bash', { command: 'sleep 600' }),
      call('bash', { command: 'env' }),
      call('bash', { command: 'touch never' }),
      textAnswer('Done.'),
    ]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    // While a command of an agent runs, the daemon checks every process that connects.
    const other = (await client.call('launchSession', {
      query: 'Wait',
      allowed_tools: ['Bash'],
    })) as Launched;
    await subscriber.waitFor(
      ({ data }) => data.session_id === other.session_id && data.event_type === 'tool_call',
    );

    const { session_id, run_id } = (await client.call('launchSession', {
      query: 'Go',
      working_dir: fixture.project,
      mcp_config: config(),
      permission_prompt_tool: 'mcp__approvals__request_permission',
    })) as Launched;
    await subscriber.waitForStatus(session_id, 'waiting_input');
    const first = await pendingApproval(client, session_id);
    expect(await client.call('getApproval', { approval_id: first })).toMatchObject({
      approval: { run_id, session_id, tool_name: 'bash', tool_input: { command: 'env' } },
    });
    await client.call('sendDecision', { approval_id: first, decision: 'approve' });
    await subscriber.waitFor(
      ({ type, data }) =>
        type === 'new_approval' && data.session_id === session_id && data.approval_id !== first,
    );
    const second = await pendingApproval(client, session_id);
    await client.call('sendDecision', { approval_id: second, decision: 'deny', comment: 'Not that.' });
    await subscriber.waitForStatus(session_id, 'completed');

    const { events } = (await client.call('getConversation', { session_id })) as {
      events: { tool_result_content?: string }[];
    };
    const [env, denied] = events.flatMap(({ tool_result_content: content }) => content ?? []);
    expect(denied).toContain('Not that.');
    // Commands of the agent do not receive the socket path.
    expect(env).toContain('PATH=');
    expect(env).not.toContain('HUMANLAYER');
    await client.call('interruptSession', { session_id: other.session_id });
    await subscriber.waitForStatus(other.session_id, 'interrupted');
  });

  it('receives the session id in the header X-Session-ID, over HTTP', async () => {
    const receivedHeaders: IncomingHttpHeaders[] = [];
    const server = createServer((request, response) => {
      receivedHeaders.push(request.headers);
      let text = '';
      request.on('data', (piece: Buffer) => (text += piece.toString()));
      request.on('end', () => {
        const { id, method, params } = objectOf(text === '' ? {} : JSON.parse(text));
        const results: Record<string, object> = {
          initialize: {
            protocolVersion: objectOf(params).protocolVersion,
            capabilities: { tools: {} },
            serverInfo: { name: 'web', version: '1' },
          },
          'tools/list': { tools: [{ name: 'look', inputSchema: { type: 'object' } }] },
        };
        const result = results[stringOf(method)];
        if (result === undefined) response.writeHead(request.method === 'POST' ? 202 : 405).end();
        else
          response
            .setHeader('content-type', 'application/json')
            .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const fixture = await cliFixture([textAnswer('One.'), textAnswer('Two.')]);
    await fixture.serve();
    const { client, subscriber } = await clients(fixture);
    const { session_id } = (await client.call('launchSession', {
      query: 'Go',
      mcp_config: {
        mcpServers: { web: { type: 'http', url, headers: { 'x-session-id': 'mine', 'x-team': 'blue' } } },
      },
    })) as Launched;
    await subscriber.waitForStatus(session_id, 'completed');
    expect(receivedHeaders.length).toBeGreaterThan(1);
    for (const headers of receivedHeaders)
      expect(headers).toMatchObject({ 'x-session-id': session_id, 'x-team': 'blue' });

    // The child is another session and inherits the server.
    const before = receivedHeaders.length;
    const child = (await client.call('continueSession', { session_id, query: 'On' })) as Launched;
    await subscriber.waitForStatus(child.session_id, 'completed');
    expect(receivedHeaders.length).toBeGreaterThan(before);
    for (const headers of receivedHeaders.slice(before).filter(({ 'x-session-id': id }) => id !== session_id))
      expect(headers['x-session-id']).toBe(child.session_id);
    expect(receivedHeaders.at(-1)?.['x-session-id']).toBe(child.session_id);
  });
});

it('a server that was started for the first run requests approvals for its session in later runs', async () => {
  const fixture = await hldFixture([answers('one'), answers('two')]);
  const {
    session_id,
    run_id,
    client,
    subscribe: subscriber,
  } = await launch(fixture, { query: 'hi' }, 'completed');
  const { runId } = await fixture.host.pod(session_id).handle(promptCommand('and then?'), ADA);
  await subscriber.waitFor(({ data }) => data.new_status === 'completed' && data.run_id === runId);
  const { approval_id } = objectOf(
    await client.call('createApproval', { run_id, tool_name: 'Bash', tool_input: {} }),
  );
  expect(await client.call('getApproval', { approval_id })).toMatchObject({ approval: { session_id } });
});

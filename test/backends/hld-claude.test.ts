import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { arrayOf, type JsonObject, objectOf, stringOf } from '../../src/base/index.ts';
import type { SimAnswer, SimRequest } from '../../src/sim/index.ts';
import { type CliFixture, cliFixture } from '../cli/daemon.ts';
import { temporaryDirectory } from '../cli/polypod.ts';
import { AGENTS, isInstalled } from './contract/agents.ts';
import { scripted } from '../mcp/fixture.ts';
import { Client, type Launched, pendingApproval } from '../protocols/hld/fixture.ts';

const [CLAUDE] = AGENTS.filter(({ name }) => name === 'claude');
if (CLAUDE === undefined) throw new Error('Claude Code is not among the agents for tests');
const { bash, prepare, command } = CLAUDE;
const CLI = humanlayerCli();
const check = test.skipIf(!isInstalled(CLAUDE));
const checkCli = test.skipIf(!isInstalled(CLAUDE) || CLI === undefined);

function humanlayerCli(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('humanlayer/dist/index.js');
  } catch {
    return undefined;
  }
}

const text = (words: string): SimAnswer => ({ parts: [{ text: words }] });
const runs = (line: string): SimAnswer => ({ parts: [{ toolCall: bash(line) }] });

interface Hosted {
  readonly fixture: CliFixture;
  readonly client: Client;
  readonly subscriber: Client;
  /** The requests of Claude Code's main loop so far. */
  readonly requests: readonly SimRequest[];
  readonly launch: (params: JsonObject) => Promise<string>;
  readonly rows: (sessionId: string) => Promise<readonly JsonObject[]>;
  readonly state: (sessionId: string) => Promise<JsonObject>;
  /** Resolves when the session has ended; fails unless it has this status; by default, it must be completed. */
  readonly ended: (sessionId: string, status?: 'completed' | 'failed') => Promise<void>;
}

/** A daemon with Claude Code, whose model gives the answers in order, and two clients of the HLD door. */
const hosted = (...answers: readonly SimAnswer[]): Promise<Hosted> => hostedWith({}, ...answers);

async function hostedWith(configuration: JsonObject, ...answers: readonly SimAnswer[]): Promise<Hosted> {
  const requests: SimRequest[] = [];
  const fixture = await cliFixture((request) => {
    if (request.tools.length === 0) return text('word');
    requests.push(request);
    return answers[Math.min(requests.length, answers.length) - 1] ?? text('nothing');
  });
  const env = prepare(fixture.home, fixture.sim.url);
  // JSON is YAML.
  fixture.configure(
    JSON.stringify({ version: 1, titles: 'off', backends: { claude: { command, env } }, ...configuration }),
  );
  const daemon = await fixture.serve();
  onTestFinished(async () => {
    daemon.child.kill('SIGTERM');
    await daemon.finished;
  });
  const socket = join(fixture.home, '.humanlayer/daemon.sock');
  const [client, subscriber] = [await Client.open(socket), await Client.open(socket)];
  subscriber.send({ jsonrpc: '2.0', method: 'Subscribe', params: {}, id: 1 });
  await subscriber.line(0);
  return {
    fixture,
    client,
    subscriber,
    requests,
    launch: async (params) => {
      const launched = await client.call('launchSession', {
        working_dir: fixture.project,
        backend: 'claude',
        ...params,
      });
      return (launched as Launched).session_id;
    },
    rows: async (sessionId) =>
      arrayOf(objectOf(await client.call('getConversation', { session_id: sessionId })).events).map(objectOf),
    state: async (sessionId) =>
      objectOf(objectOf(await client.call('getSessionState', { session_id: sessionId })).session),
    ended: async (sessionId, wanted = 'completed') => {
      const { data } = await subscriber.waitFor(
        ({ data: { session_id: session, new_status: status } }) =>
          session === sessionId && (status === 'completed' || status === 'failed'),
      );
      expect(data).toMatchObject({ new_status: wanted });
    },
  };
}

/** Launches a session with the HumanLayer CLI, as its user does. */
async function launchedByCli({ home }: CliFixture, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [CLI ?? '', 'launch', ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (piece: Buffer) => (output += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (output += piece.toString()));
  await new Promise((resolve) => child.once('close', resolve));
  const id = /Session ID: (\S+)/.exec(output)?.[1];
  if (id === undefined) throw new Error(`humanlayer launch: ${output}`);
  return id;
}

const seen = (request: SimRequest | undefined): string => JSON.stringify(request?.messages ?? []);
const toolNames = (request: SimRequest | undefined): readonly string[] =>
  request?.tools.map(({ name }) => name) ?? [];
const results = (rows: readonly JsonObject[]): readonly string[] =>
  rows.flatMap(({ tool_result_content: content }) => (content === undefined ? [] : [stringOf(content)]));

describe('an HLD session that Claude Code runs', () => {
  checkCli('is launched by the HumanLayer CLI, approved over HLD, and continued', async () => {
    const { fixture, client, subscriber, requests, rows, state, ended } = await hostedWith(
      // The CLI cannot name a back end.
      { backend: 'claude' },
      { parts: [{ text: 'I create it.' }, { toolCall: bash('touch made && echo heliotrope') }] },
      text('It is there.'),
      text('It was heliotrope.'),
    );
    const id = await launchedByCli(fixture, [
      'Create the file made.',
      ...['-m', 'sonnet', '-t', 'From the CLI', '-w', fixture.project, '--max-turns', '5'],
    ]);
    await subscriber.waitForStatus(id, 'waiting_input');
    const approvalId = await pendingApproval(client, id);
    expect(await client.call('getApproval', { approval_id: approvalId })).toMatchObject({
      approval: {
        session_id: id,
        status: 'pending',
        tool_name: 'Bash',
        tool_input: { command: 'touch made && echo heliotrope' },
      },
    });
    expect(existsSync(join(fixture.project, 'made'))).toBe(false);
    expect((await rows(id)).at(-1)).toMatchObject({ is_completed: false, approval_status: 'pending' });
    expect(await client.call('sendDecision', { approval_id: approvalId, decision: 'approve' })).toEqual({
      success: true,
    });
    await ended(id);
    expect(existsSync(join(fixture.project, 'made'))).toBe(true);
    expect(requests[0]?.model).toContain('sonnet');

    const conversation = await rows(id);
    const toolId = conversation[2]?.tool_id;
    expect(conversation).toMatchObject([
      { sequence: 1, event_type: 'message', role: 'user', content: 'Create the file made.' },
      { sequence: 2, event_type: 'message', role: 'assistant', content: 'I create it.' },
      {
        sequence: 3,
        event_type: 'tool_call',
        tool_id: expect.stringMatching(/./),
        tool_name: 'Bash',
        is_completed: true,
        approval_status: 'approved',
        approval_id: approvalId,
      },
      {
        sequence: 4,
        event_type: 'tool_result',
        tool_result_for_id: toolId,
        tool_result_content: 'heliotrope',
      },
      { sequence: 5, event_type: 'message', role: 'assistant', content: 'It is there.' },
    ]);
    expect(JSON.parse(stringOf(conversation[2]?.tool_input_json))).toMatchObject({
      command: 'touch made && echo heliotrope',
    });
    const shown = await state(id);
    expect(shown).toMatchObject({
      title: 'From the CLI',
      query: 'Create the file made.',
      model: 'sonnet',
      status: 'completed',
      working_dir: fixture.project,
    });
    for (const field of ['cost_usd', 'input_tokens', 'output_tokens', 'total_tokens', 'duration_ms'])
      expect(shown[field], field).toBeGreaterThan(0);

    const next = objectOf(
      await client.call('continueSession', { session_id: id, query: 'Which word was it?' }),
    );
    const child = stringOf(next.session_id);
    await ended(child);
    expect(next).toMatchObject({ parent_session_id: id });
    expect(next.claude_session_id).not.toBe(conversation[0]?.claude_session_id);
    // Claude Code's own session was forked: the model receives the earlier turns as messages, not as a text.
    expect(requests).toHaveLength(3);
    expect(requests[2]?.messages.map(({ role }) => role).filter((role) => role !== 'user')).toEqual([
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(seen(requests[2])).toContain('heliotrope');
    expect(requests[2]?.model).toContain('sonnet');
    expect((await rows(child)).map(({ session_id: session }) => session)).toEqual([
      ...conversation.map(() => id),
      child,
      child,
    ]);
    expect(await state(child)).toMatchObject({ status: 'completed', parent_session_id: id });
    expect((await rows(id)).length).toBe(conversation.length);
  });

  check('shows the denial of a call and its reason, which reaches the model', async () => {
    const { client, subscriber, requests, launch, rows, ended, fixture } = await hosted(
      { parts: [{ toolCall: { name: 'Write', arguments: { file_path: 'made', content: 'x' } } }] },
      text('Then not.'),
    );
    const id = await launch({ query: 'Write it.', model: 'opus' });
    await subscriber.waitForStatus(id, 'waiting_input');
    const approvalId = await pendingApproval(client, id);
    const file = join(fixture.project, 'made');
    // Clients of the protocol read the file of Claude Code's calls from `file_path`.
    expect(await client.call('getApproval', { approval_id: approvalId })).toMatchObject({
      approval: { tool_name: 'Write', tool_input: { file_path: file, content: 'x' } },
    });
    await client.call('sendDecision', { approval_id: approvalId, decision: 'deny', comment: 'Not there.' });
    await ended(id);
    expect(existsSync(file)).toBe(false);
    expect(seen(requests[1])).toContain('Not there.');
    expect(requests[0]?.model).toContain('opus');
    const [, call, result] = await rows(id);
    expect(call).toMatchObject({ tool_name: 'Write', approval_status: 'denied', is_completed: true });
    expect(JSON.parse(stringOf(call?.tool_input_json))).toEqual({
      file_path: expect.stringContaining('made'),
      content: 'x',
    });
    const shown = await subscriber.waitFor(
      ({ type, data }) => type === 'conversation_updated' && data.event_type === 'tool_call',
    );
    expect(shown.data.tool_input).toEqual(JSON.parse(stringOf(call?.tool_input_json)));
    expect(result?.tool_result_content).toContain('Not there.');
  });

  check('has snapshots of the files that it read', async () => {
    const { launch, ended, client, fixture } = await hosted(
      { parts: [{ toolCall: { name: 'Read', arguments: { file_path: 'notes.txt' } } }] },
      text('Read.'),
    );
    writeFileSync(join(fixture.project, 'notes.txt'), 'Buy tea.\nAnd bread.\n');
    const id = await launch({ query: 'Read it.' });
    await ended(id);
    expect(await client.call('getSessionSnapshots', { session_id: id })).toMatchObject({
      snapshots: [
        {
          file_path: expect.stringContaining('notes.txt'),
          content: expect.stringContaining('Buy tea.\nAnd bread.'),
        },
      ],
    });
  });

  check('applies allowed_tools, disallowed_tools and additional_directories', async () => {
    const other = temporaryDirectory();
    const note = join(other, 'note.txt');
    writeFileSync(note, 'lilac');
    const { requests, launch, rows, ended, fixture, client } = await hosted(
      runs('touch allowed'),
      runs('touch denied && rm allowed'),
      { parts: [{ toolCall: { name: 'Write', arguments: { file_path: 'written', content: 'x' } } }] },
      { parts: [{ toolCall: { name: 'Read', arguments: { file_path: note } } }] },
      text('Done.'),
    );
    const id = await launch({
      query: 'Go.',
      additional_directories: [other],
      allowed_tools: ['Bash(touch:*)'],
      disallowed_tools: ['Bash(rm:*)', 'Write', 'WebFetch'],
    });
    await ended(id);
    expect(existsSync(join(fixture.project, 'allowed'))).toBe(true);
    expect(existsSync(join(fixture.project, 'denied'))).toBe(false);
    expect(existsSync(join(fixture.project, 'written'))).toBe(false);
    expect(await client.call('fetchApprovals', { session_id: id })).toEqual({ approvals: [] });
    expect((await rows(id)).filter(({ event_type: type }) => type === 'tool_call')).toHaveLength(4);
    expect(results(await rows(id)).at(-1)).toContain('lilac');
    // A tool whose every use is denied is not offered.
    expect(toolNames(requests[0])).toContain('Bash');
    expect(toolNames(requests[0])).toContain('Edit');
    expect(toolNames(requests[0])).not.toContain('Write');
    expect(toolNames(requests[0])).not.toContain('WebFetch');
  });

  check('applies the texts for the system prompt and the maximum number of turns', async () => {
    const { requests, launch, ended, state, client } = await hosted(runs('ls'), text('One.'), text('Two.'));
    const id = await launch({
      query: 'Go.',
      max_turns: 1,
      system_prompt: 'You are a gardener.',
      append_system_prompt: 'Prefer roses.',
      custom_instructions: 'Answer in verse.',
      allowed_tools: ['Bash'],
    });
    await ended(id, 'failed');
    for (const part of ['You are a gardener.', 'Prefer roses.', 'Answer in verse.'])
      expect(requests[0]?.system).toContain(part);
    expect(requests).toHaveLength(1);
    expect(await state(id)).toMatchObject({ status: 'failed', error_message: expect.stringContaining('1') });
    // The limit is not inherited; the texts are.
    const next = objectOf(await client.call('continueSession', { session_id: id, query: 'Go on.' }));
    await ended(stringOf(next.session_id));
    expect(requests).toHaveLength(2);
    expect(requests[1]?.system).toContain('Prefer roses.');
  });

  check('connects to the servers of mcp_config and asks permission_prompt_tool', async () => {
    const { command: program, args } = scripted(PERMISSIONS);
    const { requests, launch, rows, ended, fixture, client } = await hosted(
      runs('touch allowed'),
      runs('touch denied'),
      { parts: [{ toolCall: { name: 'mcp__desk__echo', arguments: { word: 'violet' } } }] },
      { parts: [{ toolCall: { name: 'mcp__desk__decide', arguments: { input: 'lilac' } } }] },
      text('Done.'),
    );
    const id = await launch({
      query: 'Go.',
      mcp_config: { mcpServers: { desk: { command: program, args } } },
      permission_prompt_tool: 'mcp__desk__decide',
    });
    await ended(id);
    expect(existsSync(join(fixture.project, 'allowed'))).toBe(true);
    expect(existsSync(join(fixture.project, 'denied'))).toBe(false);
    expect(results(await rows(id)).slice(1)).toEqual([
      expect.stringContaining('The desk says no.'),
      expect.stringContaining('violet'),
      // The model does not have the tool that decides about its calls.
      expect.stringContaining('No such tool available: mcp__desk__decide'),
    ]);
    expect(JSON.stringify(requests[2]?.body)).not.toContain('mcp__desk__decide');
    expect(
      await client.reply('launchSession', {
        query: 'Go.',
        backend: 'claude',
        permission_prompt_tool: 'mcp__desk__none',
      }),
    ).toMatchObject({ error: { message: expect.stringContaining('mcp__desk__none') } });
  });

  check('accepts edits and skips permissions as its settings say', async () => {
    const { subscriber, launch, ended, fixture, client } = await hosted(
      { parts: [{ toolCall: { name: 'Write', arguments: { file_path: 'written', content: 'x' } } }] },
      runs('touch made'),
      text('Done.'),
    );
    const id = await launch({ query: 'Go.' });
    await subscriber.waitForStatus(id, 'waiting_input');
    const first = await pendingApproval(client, id);
    await client.call('updateSessionSettings', { session_id: id, auto_accept_edits: true });
    await client.call('sendDecision', { approval_id: first, decision: 'approve' });
    await subscriber.waitFor(
      ({ type, data }) => type === 'new_approval' && data.session_id === id && data.approval_id !== first,
    );
    await client.call('updateSessionSettings', { session_id: id, dangerously_skip_permissions: true });
    await ended(id);
    expect(existsSync(join(fixture.project, 'written'))).toBe(true);
    expect(existsSync(join(fixture.project, 'made'))).toBe(true);
  });
});

/** A server whose tool `decide` allows every call except those about a file named denied. */
const PERMISSIONS = `
tools = [tool('decide'), tool('echo')];
methods['tools/call'] = ({ params: { name, arguments: args } }) => {
  if (name === 'echo') return text(JSON.stringify(args));
  const isDenied = JSON.stringify(args.input).includes('denied');
  return text(JSON.stringify(isDenied ? { behavior: 'deny', message: 'The desk says no.' } : { behavior: 'allow', updatedInput: args.input }));
};
`;

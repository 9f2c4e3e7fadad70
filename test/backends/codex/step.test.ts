import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../../../src/backends/index.ts';
import { permissionResult, questionResult } from '../../../src/backends/codex/requests.ts';
import { type CodexState, initialState, step, withoutRequest } from '../../../src/backends/codex/step.ts';
import type { JsonObject } from '../../../src/base/index.ts';

const FIXTURES = new URL('fixtures/', import.meta.url);
const names = readdirSync(FIXTURES).flatMap((name) => (name.endsWith('.jsonl') ? [name.slice(0, -6)] : []));
const prompted: CodexState = { ...initialState('thread-1', '/project'), isPrompted: true };

function framesOf(name: string): readonly JsonObject[] {
  const text = readFileSync(new URL(`${name}.jsonl`, FIXTURES), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject);
}

/** Replays a recording. Requests are answered at once, unless the recording is of a request that was not answered. */
function replay(name: string): { readonly state: CodexState; readonly events: readonly AgentEvent[] } {
  const events: AgentEvent[] = [];
  let state: CodexState = { ...prompted, isCancelling: name.startsWith('cancel') };
  for (const frame of framesOf(name)) {
    const result = step(state, frame);
    events.push(...result.events);
    state = result.state;
    for (const key of name === 'cancel-permission' ? [] : state.requests.keys())
      state = withoutRequest(state, key);
  }
  return { state, events };
}

function eventsOf(frames: readonly JsonObject[], from = prompted): readonly AgentEvent[] {
  const events: AgentEvent[] = [];
  let state = from;
  for (const frame of frames) {
    const result = step(state, frame);
    events.push(...result.events);
    state = result.state;
  }
  return events;
}

describe('frames of Codex 0.169.0', () => {
  it.each(names)('are translated: %s', async (name) => {
    const { events, state } = replay(name);
    const lines = events.map((event) => JSON.stringify(event)).join('\n');
    await expect(`${lines}\n`).toMatchFileSnapshot(`fixtures/${name}.events`);
    expect(state).toMatchObject({ turnId: undefined, calls: new Map(), requests: new Map() });
  });

  it.each(names)('have one end for each call, and one for the turn: %s', (name) => {
    const { events } = replay(name);
    const begun = events.flatMap((event) => (event.type === 'call' ? [event.call.callId] : []));
    const ended = events.flatMap((event) => (event.type === 'call-end' ? [event.callId] : []));
    expect(ended.toSorted()).toEqual(begun.toSorted());
    expect(events.filter(({ type }) => type === 'turn-end')).toHaveLength(1);
    expect(events.at(-1)?.type).toBe('turn-end');
  });

  it.each(names)('of another session have no effect: %s', (name) => {
    const other = { ...prompted, threadId: 'another' };
    for (const frame of framesOf(name)) expect(step(other, frame)).toMatchObject({ events: [] });
  });

  it.each(names)('never throw if any part of them is missing or of another type: %s', (name) => {
    for (const frame of framesOf(name))
      for (const damaged of damagedCopies(frame)) expect(() => step(prompted, damaged)).not.toThrow();
  });
});

/** Copies of a value in which one value at any depth is replaced. */
function damagedCopies(value: JsonObject): readonly JsonObject[] {
  return Object.entries(value).flatMap(([key, inner]) => {
    const replaced = [undefined, null, 7, 'x', [], {}, [null, 3, {}]].map((other) => ({
      ...value,
      [key]: other,
    }));
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return replaced;
    return [...replaced, ...damagedCopies(inner as JsonObject).map((copy) => ({ ...value, [key]: copy }))];
  });
}

describe('a request', () => {
  const request = (method: string, params: object): JsonObject => ({
    id: 5,
    method,
    params: { threadId: 'thread-1', turnId: 't', itemId: 'c', ...params },
  });

  it('that is unknown is answered with an error', () => {
    const { replies, events } = step(prompted, request('item/tool/call', { tool: 'x' }));
    expect(replies).toEqual([{ id: 5, error: { code: -32601, message: 'item/tool/call is not supported' } }]);
    expect(events).toEqual([]);
  });

  it('of a sub-agent after the turn is answered with an error', () => {
    const idle = {
      ...prompted,
      isPrompted: false,
      subAgents: new Map([['sub', { callId: 'c', text: '', isActive: true, totalTokens: 0 }]]),
    };
    const frame = request('item/commandExecution/requestApproval', { threadId: 'sub', command: 'ls' });
    expect(step(idle, frame)).toMatchObject({ events: [], replies: [{ id: 5, error: {} }] });
  });

  it('for a command without a known shell is judged as it is', () => {
    const frame = request('item/commandExecution/requestApproval', { command: 'fish -c "touch a"' });
    expect(eventsOf([frame])).toMatchObject([
      { request: { call: { access: [{ type: 'command', command: 'fish -c "touch a"', cwd: '/project' }] } } },
    ]);
  });

  it('for input to a running command is not one for the command', () => {
    const frame = request('item/commandExecution/requestApproval', {
      kind: 'writeStdin',
      command: "bash -c 'ls'",
    });
    expect(eventsOf([frame])).toMatchObject([
      { request: { call: { title: 'send input to ls', access: [{ type: 'foreign', readOnly: false }] } } },
    ]);
  });

  it('for a connection names the host', () => {
    const frame = request('item/commandExecution/requestApproval', {
      command: 'curl x',
      networkApprovalContext: { host: 'Example.com', protocol: 'https' },
    });
    expect(eventsOf([frame])).toMatchObject([
      { request: { call: { access: [{ type: 'web', host: 'example.com' }] } } },
    ]);
  });

  it('for a patch without an item is of an unknown call', () => {
    expect(eventsOf([request('item/fileChange/requestApproval', {})])).toMatchObject([
      { request: { call: { name: 'apply_patch', access: [{ type: 'foreign', readOnly: false }] } } },
    ]);
  });

  it('for permissions is answered with them, for this turn only', () => {
    const permissions = { network: { enabled: true }, fileSystem: null };
    const params = { permissions, reason: 'to download' };
    const [event] = eventsOf([request('item/permissions/requestApproval', params)]);
    expect(event).toMatchObject({ request: { call: { title: 'more permissions: to download' } } });
    const open = { id: 5, method: 'item/permissions/requestApproval', params };
    expect(permissionResult(open, { decision: 'allow' })).toEqual({ permissions, scope: 'turn' });
    expect(permissionResult(open, { decision: 'deny', reason: '' })).toEqual({
      permissions: {},
      scope: 'turn',
    });
  });

  it('for an approval that is not of a tool is a permission too, never a question', () => {
    const params = {
      serverName: 's',
      mode: 'form',
      _meta: { codex_approval_kind: 'other' },
      message: 'Allow it?',
    };
    expect(eventsOf([request('mcpServer/elicitation/request', params)])).toMatchObject([
      { type: 'permission', request: { call: { access: [{ type: 'foreign', readOnly: false }] } } },
    ]);
  });

  it('is answered in the words of Codex', () => {
    const command = { id: 1, method: 'item/commandExecution/requestApproval', params: {} };
    const tool = { id: 1, method: 'mcpServer/elicitation/request', params: {} };
    const input = { id: 1, method: 'item/tool/requestUserInput', params: {} };
    expect(permissionResult(command, { decision: 'allow' })).toEqual({ decision: 'accept' });
    expect(permissionResult(command, { decision: 'deny', reason: '' })).toEqual({ decision: 'decline' });
    expect(permissionResult(command, { decision: 'cancel' })).toEqual({ decision: 'cancel' });
    expect(permissionResult(tool, { decision: 'deny', reason: '' })).toMatchObject({ action: 'decline' });
    expect(questionResult(tool, { action: 'accept', content: { a: 1 } })).toMatchObject({
      action: 'accept',
      content: { a: 1 },
    });
    expect(questionResult(tool, { action: 'cancel' })).toMatchObject({ action: 'cancel', content: null });
    expect(questionResult(input, { action: 'accept', content: { color: 'Red' } })).toEqual({
      answers: { color: { answers: ['Red'] } },
    });
    expect(questionResult(input, { action: 'decline' })).toEqual({ answers: {} });
  });
});

describe('a notification', () => {
  const note = (method: string, params: object): JsonObject => ({
    method,
    params: { threadId: 'thread-1', ...params },
  });

  it('about the plan is the list of steps', () => {
    const plan = [
      { step: 'One', status: 'completed' },
      { step: 'Two', status: 'inProgress' },
      { step: 'Three', status: 'pending' },
    ];
    expect(eventsOf([note('turn/plan/updated', { plan })])).toEqual([
      {
        type: 'todos',
        items: [
          { content: 'One', status: 'completed' },
          { content: 'Two', status: 'in_progress' },
          { content: 'Three', status: 'pending' },
        ],
      },
    ]);
  });

  it('about a turn that no prompt started begins one', () => {
    const idle = { ...prompted, isPrompted: false };
    expect(eventsOf([note('turn/started', { turn: { id: 't' } })], idle)).toEqual([{ type: 'turn-start' }]);
  });

  it('about the end of another turn has no effect', () => {
    const running = { ...prompted, turnId: 't2' };
    expect(eventsOf([note('turn/completed', { turn: { id: 't1', status: 'completed' } })], running)).toEqual(
      [],
    );
  });

  it('about usage that is repeated counts once', () => {
    const usage = (total: number) =>
      note('thread/tokenUsage/updated', {
        tokenUsage: {
          total: { totalTokens: total },
          last: { totalTokens: total, inputTokens: 1 },
          modelContextWindow: 100,
        },
      });
    const resumed = { ...prompted, isPrompted: false };
    const frames = [usage(10), note('turn/started', { turn: { id: 't' } }), usage(10), usage(15)];
    expect(eventsOf(frames, resumed).filter(({ type }) => type === 'usage')).toEqual([
      { type: 'usage', usage: { inputTokens: 1, totalTokens: 15 } },
    ]);
  });

  it('about a failure of the account is a failure of that kind', () => {
    const failed = (codexErrorInfo: unknown, message = 'x') =>
      eventsOf([note('turn/completed', { turn: { status: 'failed', error: { message, codexErrorInfo } } })]);
    expect(failed('usageLimitExceeded')).toMatchObject([{ outcome: { failure: { kind: 'quota' } } }]);
    expect(failed('contextWindowExceeded')).toMatchObject([
      { outcome: { failure: { kind: 'context-too-long' } } },
    ]);
    expect(failed({ httpConnectionFailed: { httpStatusCode: 503 } })).toMatchObject([
      { outcome: { failure: { kind: 'server', httpStatus: 503 } } },
    ]);
    expect(failed('other', '{"error":{"message":"bad thing"}}')).toMatchObject([
      { outcome: { failure: { kind: 'provider', message: 'bad thing' } } },
    ]);
  });
});

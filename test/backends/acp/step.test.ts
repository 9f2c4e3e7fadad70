import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject, objectOf } from '../../../src/base/index.ts';
import type { CallDialect } from '../../../src/backends/acp/calls.ts';
import {
  type AcpState,
  type AcpStep,
  answerPermission,
  cancelTurn,
  newState,
  startTurn,
  step,
} from '../../../src/backends/acp/step.ts';
import type { AgentEvent, PermissionReply } from '../../../src/backends/index.ts';

const FRAMES = new URL('./frames/', import.meta.url);

interface Frame {
  /** `→`: what the client sent. */
  readonly d: '→' | '←';
  readonly m: JsonObject;
}

function dialectOf(name: string): CallDialect {
  return { cwd: '/p', commandInTitle: name.startsWith('gemini') };
}

/** Replays one captured turn. Returns the events, and the answers of the connection to the agent's requests. */
function replay(frames: readonly Frame[], dialect: CallDialect) {
  const events: AgentEvent[] = [];
  const answers: JsonObject[] = [];
  let state: AcpState = { ...newState(dialect), sessionId: 'S' };
  const take = (next: AcpStep): void => {
    state = next.state;
    events.push(...next.events);
    for (const action of next.actions)
      if (action.type === 'result') answers.push({ id: action.id, result: action.result });
  };
  for (const { d, m } of frames) {
    if (d === '←') take(step(state, m));
    else if (m.method === 'session/prompt') state = startTurn(state, Number(m.id));
    else if (m.method === 'session/cancel') take(cancelTurn(state));
    else if (isObject(m.result)) take(answerPermission(state, JSON.stringify(m.id), replyOf(m.result)));
  }
  return { events, answers, state };
}

function replyOf(result: JsonObject): PermissionReply {
  const { outcome, optionId } = objectOf(result.outcome);
  if (outcome === 'cancelled') return { decision: 'cancel' };
  return /allow|once|proceed|accept|approved/.test(String(optionId)) &&
    !/reject|deny|abort|cancel/.test(String(optionId))
    ? { decision: 'allow' }
    : { decision: 'deny', reason: 'Not today.' };
}

function readFrames(name: string): readonly Frame[] {
  const lines = readFileSync(new URL(name, FRAMES), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Frame);
}

/** One event per line; functions are not part of a file. */
function eventLines(events: readonly AgentEvent[]): string {
  return `${events.map((event) => JSON.stringify(event)).join('\n')}\n`;
}

const names = readdirSync(FRAMES).filter((name) => name.endsWith('.jsonl'));

describe('captured turns', () => {
  it.each(names)('%s', async (name) => {
    const { events, answers, state } = replay(readFrames(name), dialectOf(name));
    await expect(eventLines(events)).toMatchFileSnapshot(
      new URL(name.replace('.jsonl', '.events'), FRAMES).pathname,
    );
    expect(state.requests.size).toBe(0);
    // What the connection answers is what the client answered when the turn was captured.
    const sent = readFrames(name).filter(({ d, m }) => d === '→' && isObject(m.result));
    expect(answers).toEqual(sent.map(({ m }) => ({ id: m.id, result: m.result })));
    expect(events.filter(({ type }) => type === 'turn-end')).toHaveLength(1);
  });
});

describe('step', () => {
  const running = startTurn({ ...newState({ cwd: '/p', commandInTitle: false }), sessionId: 'S' }, 7);
  const update = (fields: JsonObject, sessionId = 'S'): JsonObject => ({
    method: 'session/update',
    params: { sessionId, update: fields },
  });

  it.each([
    {},
    { id: null },
    { id: 99, result: null },
    { method: 7 },
    { method: 'session/update' },
    { method: 'session/update', params: [] },
    update({}),
    update({ sessionUpdate: 'tool_call' }),
    update({ sessionUpdate: 'tool_call', toolCallId: 3, content: 'x', locations: {}, rawInput: [] }),
    update({ sessionUpdate: 'agent_message_chunk', content: { type: 'audio' } }),
    update({ sessionUpdate: 'agent_message_chunk', content: null }),
    update({ sessionUpdate: 'plan_v9', entries: 1 }),
    update({ sessionUpdate: 'usage_update', used: 'many' }),
    update(
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'of another session' } },
      'other',
    ),
    { method: '_vendor/note', params: {} },
  ])('ignores %j', (frame) => {
    expect(step(running, frame).events).toEqual([]);
  });

  it('ignores the history of a session that is loaded', () => {
    const loading = newState({ cwd: '/p', commandInTitle: false });
    const chunk = update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'old' } });
    expect(step(loading, chunk).events).toEqual([]);
  });

  it('answers unknown requests, and requests for permission outside of a turn', () => {
    expect(step(running, { id: 'a', method: '_vendor/x' }).actions).toEqual([
      { type: 'error', id: 'a', error: { code: -32601, message: 'Method not found: _vendor/x' } },
    ]);
    const idle = { ...running, promptId: undefined };
    const asked = {
      id: 1,
      method: 'session/request_permission',
      params: { toolCall: { toolCallId: 'c' }, options: [] },
    };
    expect(step(idle, asked)).toMatchObject({
      events: [],
      actions: [{ type: 'result', id: 1, result: { outcome: { outcome: 'cancelled' } } }],
    });
  });

  it('reports that a request for permission was withdrawn', () => {
    const options = [{ optionId: 'y', kind: 'allow_once' }];
    const asked = {
      id: 1,
      method: 'session/request_permission',
      params: { toolCall: { toolCallId: 'c' }, options },
    };
    const { state } = step(running, asked);
    const withdrawn = step(state, { method: '$/cancel_request', params: { requestId: 1 } });
    expect(withdrawn.events).toEqual([{ type: 'permission-withdrawn', requestId: '1' }]);
    expect(answerPermission(withdrawn.state, '1', { decision: 'allow' }).actions).toEqual([]);
  });

  const accessOf = (toolCall: JsonObject): unknown => {
    const params = { toolCall: { toolCallId: 'c', ...toolCall }, options: [] };
    // The calls of a turn are changed in place.
    const turn = { ...running, calls: new Map() };
    const [event] = step(turn, { id: 1, method: 'session/request_permission', params }).events;
    return event?.type === 'permission' ? event.request.call.access : undefined;
  };

  it.each([
    ['a title instead of a command', { kind: 'execute', title: 'ls' }],
    ['a file without a path', { kind: 'read', title: 'read' }],
    ['an edit without a path', { kind: 'edit' }],
    ['a fetch without a URL', { kind: 'fetch', rawInput: { url: 'not a url' } }],
    ['an unknown kind', { kind: 'teleport', rawInput: { command: 'ls' } }],
    ['no kind', { title: 'mcp tool', rawInput: { path: '/p/a' } }],
  ])('lets a person decide about %s', (_, toolCall) => {
    expect(accessOf(toolCall)).toEqual([{ type: 'foreign', readOnly: false }]);
  });

  it.each([
    [
      { kind: 'execute', rawInput: { command: ['bash', '-lc', 'a | b'] } },
      { type: 'command', command: 'a | b', cwd: '/p' },
    ],
    [
      { kind: 'execute', rawInput: { command: ['ls', 'a b'], cwd: 'sub' } },
      { type: 'command', command: "ls 'a b'", cwd: '/p/sub' },
    ],
    [
      { kind: 'read', locations: [{ path: '/etc/passwd', line: 3 }] },
      { type: 'read', path: '/etc/passwd' },
    ],
    [
      { kind: 'search', rawInput: { pattern: 'x', path: '..' } },
      { type: 'read', path: '/' },
    ],
    [
      { kind: 'fetch', rawInput: { url: 'https://Example.com/a' } },
      { type: 'web', host: 'example.com' },
    ],
    [
      { kind: 'delete', locations: [{ path: '/p/a' }] },
      { type: 'write', path: '/p/a' },
    ],
    [
      { kind: 'edit', rawInput: { file_path: 'a' } },
      { type: 'write', path: '/p/a' },
    ],
  ])('%j has the access %j', (toolCall, access) => {
    expect(accessOf(toolCall)).toEqual([access]);
  });

  it('knows the content after an edit that shows only the changed part', () => {
    const diff = { type: 'diff', path: '/p/a', oldText: 'b\n', newText: 'c\n' };
    const [access] = accessOf({ kind: 'edit', content: [diff] }) as [
      { after: (before?: string) => string | undefined },
    ];
    expect(access.after('a\nb\n')).toBe('a\nc\n');
    expect(access.after('b\nb\n')).toBe(undefined);
    expect(access.after(undefined)).toBe(undefined);
  });
});

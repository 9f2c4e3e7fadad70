import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { convertToLlm, SessionManager } from '@mariozechner/pi-coding-agent';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Item } from '../../../src/llm/index.ts';
import {
  BRANCH,
  compactionBody,
  conversation,
  RUN_START,
  SessionTree,
} from '../../../src/pod/session/index.ts';
import { ANSWER, counting, HEADER, linesOf, messageItem, readTree, messagesOf } from './samples.ts';

const ITEMS: readonly Item[] = [
  {
    type: 'message',
    role: 'user',
    content: [
      { type: 'text', text: 'What is on this picture? 日本語 \u2028' },
      { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
    ],
  },
  { type: 'reasoning', text: 'hm', seal: { wire: 'anthropic', data: { signature: 'c2ln' } } },
  { type: 'opaque', name: 'web_search', seal: { wire: 'anthropic', data: { block: { type: 'x' } } } },
  messageItem('assistant', 'I look.'),
  { type: 'tool-call', callId: 'call_1', name: 'read', arguments: '{ "path": "a" }' },
  { type: 'tool-call', callId: 'call_2', name: 'bash', arguments: '{"cut' },
  { type: 'tool-result', callId: 'call_1', content: [{ type: 'text', text: 'A' }], isError: false },
  { type: 'tool-result', callId: 'call_2', content: [{ type: 'text', text: 'broken' }], isError: true },
  messageItem('assistant', 'A picture.'),
];

describe('pi 0.73.1', () => {
  let directory = '';
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'polypod-pi-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** The file as pi opens it. Each line ends with a checksum, as the store writes it. */
  function inPi(tree: SessionTree, name: string): SessionManager {
    const file = join(directory, name);
    const lines = linesOf(tree).map((line) => `${line.slice(0, -1)},"crc":"0badcafe"}\n`);
    writeFileSync(file, lines.join(''));
    return SessionManager.open(file);
  }

  /** The file that pi wrote, as Polypod opens it. */
  function fromPi(pi: SessionManager): SessionTree {
    const lines = readFileSync(pi.getSessionFile() ?? '', 'utf8').split('\n');
    const { tree, problems } = readTree(lines, counting());
    expect(problems).toEqual([]);
    return tree;
  }

  function ours(): SessionTree {
    const tree = new SessionTree(HEADER, counting());
    tree.append({ type: 'model_change', provider: 'anthropic', modelId: 'claude-test' });
    tree.append({ type: 'thinking_level_change', thinkingLevel: 'high' });
    tree.append({ type: 'session_info', name: 'a picture' });
    tree.append(RUN_START.body({ runId: 'run-1' }));
    for (const message of messagesOf(ITEMS, { ...ANSWER, stopReason: 'toolUse' }))
      tree.append({ type: 'message', message });
    return tree;
  }

  it('opens our session with the same messages, model, level and name', () => {
    const tree = ours();
    const pi = inPi(tree, 'ours.jsonl');
    const context = pi.buildSessionContext();
    const messages = tree.path().flatMap((entry) => (entry.type === 'message' ? [entry.message] : []));
    expect(context.messages).toEqual(messages);
    expect(context.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'toolResult',
      'toolResult',
      'assistant',
    ]);
    expect(context.model).toEqual({ provider: 'anthropic', modelId: 'claude-test' });
    expect(context.thinkingLevel).toBe('high');
    expect(pi.getSessionName()).toBe('a picture');
    expect(pi.getLeafId()).toBe(tree.leafId);
    expect(pi.getSessionId()).toBe(HEADER.id);
  });

  it('reads our branches and compactions as we do', () => {
    const tree = ours();
    const { entryIds } = conversation(tree);
    tree.branchTo(entryIds[0] ?? null);
    tree.append(BRANCH.body({}));
    for (const message of messagesOf(
      [messageItem('assistant', 'Another.'), messageItem('user', 'Why?')],
      ANSWER,
    ))
      tree.append({ type: 'message', message });
    expect(inPi(tree, 'branched.jsonl').buildSessionContext().messages).toHaveLength(3);
    const before = conversation(tree);
    tree.append(compactionBody(before, { summary: 'so far', replaced: 2, tokensBefore: 77 }));
    const { messages } = inPi(tree, 'compacted.jsonl').buildSessionContext();
    expect(messages).toMatchObject([
      { role: 'compactionSummary', summary: 'so far', tokensBefore: 77 },
      { role: 'user', content: [{ text: 'Why?' }] },
    ]);
    expect(conversation(tree).items).toHaveLength(2);
    const all = conversation(tree);
    tree.append(compactionBody(all, { summary: 'all', replaced: all.items.length, tokensBefore: 78 }));
    expect(inPi(tree, 'empty.jsonl').buildSessionContext().messages).toHaveLength(1);
    expect(conversation(tree).items).toHaveLength(1);
  });

  it('continues our session, and we continue what it added', () => {
    const tree = ours();
    const pi = inPi(tree, 'continued.jsonl');
    const before = conversation(tree).items;
    const id = pi.appendMessage({ role: 'user', content: 'And now?', timestamp: 5 });
    pi.appendSessionInfo('renamed');
    const again = fromPi(pi);
    expect(again.get(id)?.parentId).toBe(tree.leafId);
    expect(conversation(again).items).toEqual([...before, messageItem('user', 'And now?')]);
    expect(conversation(again).name).toBe('renamed');
  });

  it('may repeat all entries if there was no answer yet; duplicates are dropped', () => {
    const tree = new SessionTree(HEADER, counting());
    tree.append({ type: 'message', message: { role: 'user', content: 'hi', timestamp: 1 } });
    const pi = inPi(tree, 'twice.jsonl');
    pi.appendMessage({ role: 'user', content: 'anybody?', timestamp: 2 });
    const answer = messagesOf([messageItem('assistant', 'yo')], ANSWER)[0];
    pi.appendMessage(answer as unknown as Parameters<SessionManager['appendMessage']>[0]);
    const lines = readFileSync(pi.getSessionFile() ?? '', 'utf8').split('\n');
    const read = readTree(lines, counting());
    expect(read.problems.map(({ reason }) => reason)).toEqual(['a second header', 'a duplicate id']);
    expect(conversation(read.tree).items).toEqual([
      messageItem('user', 'hi'),
      messageItem('user', 'anybody?'),
      messageItem('assistant', 'yo'),
    ]);
  });

  it('writes a session that we read as pi does', () => {
    const pi = SessionManager.create(directory, directory);
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.25 };
    const usage = { input: 10, output: 5, cacheRead: 3, cacheWrite: 2, totalTokens: 20, cost };
    const answered = { role: 'assistant', api: 'anthropic-messages', provider: 'anthropic' } as const;
    pi.appendModelChange('anthropic', 'claude-a');
    pi.appendThinkingLevelChange('low');
    const first = pi.appendMessage({ role: 'user', content: 'list', timestamp: 1 });
    pi.appendMessage({
      ...answered,
      content: [
        { type: 'thinking', thinking: 'hm', thinkingSignature: 'c2ln' },
        { type: 'text', text: 'ok' },
        { type: 'toolCall', id: 't1', name: 'bash', arguments: { command: 'ls' } },
      ],
      model: 'claude-b',
      usage,
      stopReason: 'toolUse',
      timestamp: 2,
    });
    pi.appendMessage({
      role: 'toolResult',
      toolCallId: 't1',
      toolName: 'bash',
      content: [{ type: 'text', text: 'a' }],
      isError: false,
      timestamp: 3,
    });
    pi.appendCustomEntry('somebody', { x: 1 });
    pi.appendCustomMessageEntry('somebody', 'remember this', true);
    pi.appendLabelChange(first, 'start');
    const { items, model, thinkingLevel, totals } = conversation(fromPi(pi));
    expect(items).toEqual([
      messageItem('user', 'list'),
      { type: 'reasoning', text: 'hm', seal: { wire: 'anthropic', data: { signature: 'c2ln' } } },
      messageItem('assistant', 'ok'),
      { type: 'tool-call', callId: 't1', name: 'bash', arguments: '{"command":"ls"}' },
      { type: 'tool-result', callId: 't1', content: [{ type: 'text', text: 'a' }], isError: false },
      messageItem('user', 'remember this'),
    ]);
    expect(model).toEqual({ provider: 'anthropic', modelId: 'claude-b' });
    expect(thinkingLevel).toBe('low');
    expect(totals).toMatchObject({ turns: 1, toolCalls: 1, inputTokens: 15, outputTokens: 5, cost: 0.25 });
    expect(fromPi(pi).labels.get(first)).toBe('start');
    pi.branchWithSummary(first, 'it listed the files');
    const branched = conversation(fromPi(pi)).items;
    expect(branched).toEqual(
      convertToLlm(pi.buildSessionContext().messages).map((message) =>
        messageItem('user', typeof message.content === 'string' ? message.content : textIn(message.content)),
      ),
    );
    const kept = pi.appendMessage({ role: 'user', content: 'go on', timestamp: 4 });
    pi.appendCompaction('all of it', kept, 99);
    expect(conversation(fromPi(pi)).items).toMatchObject([
      { content: [{ text: expect.stringContaining('<summary>\nall of it\n</summary>') }] },
      { content: [{ text: 'go on' }] },
    ]);
  });
});

function textIn(content: readonly object[]): string {
  return content.map((part) => ('text' in part ? String(part.text) : '')).join('');
}

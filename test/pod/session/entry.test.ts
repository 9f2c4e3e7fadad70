import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ACCEPTED,
  APPROVAL_REQUEST,
  APPROVAL_RESPONSE,
  conversation,
  encodeEntry,
  encodeHeader,
  FORK,
  factKind,
  field,
  isFact,
  MARK,
  parseLine,
  QUEUED,
  RUN_END,
  RUN_START,
  SETTINGS,
  SHELL_END,
  SHELL_START,
  SessionTree,
  TODOS,
  TOOL_END,
  UNQUEUED,
} from '../../../src/pod/session/index.ts';
import { counting, HEADER, linesOf, messageItem, spaced, readTree, parseEntry } from './samples.ts';

const USAGE =
  '{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}';

/** The smallest file that xcsh loads, from the spec. */
const SMALLEST = [
  '{"type":"session","version":3,"id":"my-own-id","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/some/dir"}',
  '{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hi","timestamp":1}}',
  `{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"yo"}],"api":"x","provider":"p","model":"m","usage":${USAGE},"stopReason":"stop","timestamp":2}}`,
];

/** As xcsh writes: settings first, its own kinds in between, the title in the header. */
const XCSH = [
  '{"type":"session","version":3,"id":"0198a0b1c2d3e4f5","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/some/dir","title":"A title","titleSource":"auto","profile":"work"}',
  '{"type":"model_change","id":"b0000001","parentId":null,"timestamp":"2026-01-01T00:00:00.001Z","model":"openrouter/x/y","role":"default"}',
  '{"type":"thinking_level_change","id":"b0000002","parentId":"b0000001","timestamp":"2026-01-01T00:00:00.002Z","thinkingLevel":"medium"}',
  '{"type":"service_tier_change","id":"b0000003","parentId":"b0000002","timestamp":"2026-01-01T00:00:00.003Z","serviceTier":null}',
  '{"type":"message","id":"b0000004","parentId":"b0000003","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"old"}],"attribution":"user","timestamp":1}}',
  '{"type":"mode_change","id":"b0000005","parentId":"b0000004","timestamp":"2026-01-01T00:00:01.000Z","mode":"plan","data":{"n":1.0,"big":12345678901234567890}}',
  '{"type":"message","id":"b0000006","parentId":"b0000005","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"text","text":"kept"}],"timestamp":2}}',
  '{"type":"compaction","id":"b0000007","parentId":"b0000006","timestamp":"2026-01-01T00:00:03.000Z","summary":"S","shortSummary":"s","firstKeptEntryId":"b0000006","tokensBefore":1234,"preserveData":{}}',
  '{"type":"model_change","id":"b0000008","parentId":"b0000007","timestamp":"2026-01-01T00:00:04.000Z","model":"p/other","role":"temporary"}',
  '{"type":"message","id":"b0000009","parentId":"b0000008","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"bashExecution","command":"ls","output":"a","exitCode":0,"cancelled":false,"truncated":false,"timestamp":3}}',
];

const read = (lines: readonly string[]) => readTree(lines, counting());

describe('files of other programs', () => {
  it('reads the smallest file', () => {
    const { tree, problems } = read(SMALLEST);
    expect(problems).toEqual([]);
    expect(conversation(tree)).toMatchObject({
      items: [messageItem('user', 'hi'), messageItem('assistant', 'yo')],
      entryIds: ['aaaa0001', 'aaaa0002'],
      model: { provider: 'p', modelId: 'm' },
      totals: { turns: 1, inputTokens: 1, outputTokens: 1, cost: 0 },
    });
    expect(linesOf(tree)).toEqual(SMALLEST);
  });

  it('reads a file of xcsh', () => {
    const { tree, problems } = read(XCSH);
    expect(problems).toEqual([]);
    const { items, entryIds, model, thinkingLevel, name } = conversation(tree);
    expect(items.map((item) => (item.type === 'message' ? item.content[0] : item))).toMatchObject([
      { text: expect.stringContaining('<summary>\nS\n</summary>') },
      { text: 'kept' },
      { text: 'Ran `ls`\n```\na\n```' },
    ]);
    expect(entryIds).toEqual(['b0000007', 'b0000006', 'b0000009']);
    expect(model).toEqual({ provider: 'openrouter', modelId: 'x/y' });
    expect(thinkingLevel).toBe('medium');
    expect(name).toBe('A title');
  });

  it('lose nothing when written again; unknown kinds keep every byte', () => {
    const again = linesOf(read(XCSH).tree);
    again.forEach((line, at) => expect(JSON.parse(line)).toMatchObject(JSON.parse(XCSH[at] ?? '')));
    expect([again[3], again[5]]).toEqual([XCSH[3], XCSH[5]]);
  });

  it('take the later of two siblings as the active branch', () => {
    const sibling = SMALLEST[2]?.replace('aaaa0002', 'aaaa0003').replace('yo', 'later') ?? '';
    expect(conversation(read([...SMALLEST, sibling]).tree).items).toEqual([
      messageItem('user', 'hi'),
      messageItem('assistant', 'later'),
    ]);
  });

  it('make orphans roots', () => {
    const orphan = SMALLEST[2]?.replace('"parentId":"aaaa0001"', '"parentId":"lost"') ?? '';
    const { tree, problems } = read([SMALLEST[0] ?? '', SMALLEST[1] ?? '', orphan]);
    expect(problems).toEqual([{ line: 3, reason: 'an unknown parent' }]);
    expect(tree.children(null).map(({ id }) => id)).toEqual(['aaaa0001', 'aaaa0002']);
    expect(conversation(tree).items).toEqual([messageItem('assistant', 'yo')]);
  });

  it('break cycles', () => {
    const [header = '', one = '', two = ''] = SMALLEST;
    const { tree } = read([header, one.replace('"parentId":null', '"parentId":"aaaa0002"'), two]);
    expect(tree.path().map(({ id }) => id)).toEqual(['aaaa0001', 'aaaa0002']);
    const own = one.replace('"parentId":null', '"parentId":"aaaa0001"');
    expect(read([header, own]).tree.path()).toHaveLength(1);
  });
});

describe('lines', () => {
  it.each([
    ['{"type":"message","id":"a', 'not JSON'],
    ['\u0000\u0000\u0000', 'not JSON'],
    ['[1]', 'not an object'],
    ['{"id":"a"}', 'no type'],
    ['{"type":"message"}', 'no id'],
    ['{"type":"session","id":"again"}', 'a second header'],
    [SMALLEST[1] ?? '', 'a duplicate id'],
  ])('%s is skipped and reported', (line, reason) => {
    const { tree, problems } = read([...SMALLEST, line, '', '  ']);
    expect(problems).toEqual([{ line: 4, reason }]);
    expect(linesOf(tree)).toEqual(SMALLEST);
    expect(tree.leafId).toBe('aaaa0002');
  });

  it('skip garbage in between', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.json()), { maxLength: 5 }), fc.nat(2), (garbage, at) => {
        const lines = [...SMALLEST.slice(0, at + 1), ...garbage, ...SMALLEST.slice(at + 1)];
        expect(conversation(read(lines).tree).items.slice(-1)).toEqual(
          conversation(read(SMALLEST).tree).items.slice(-1),
        );
      }),
    );
  });

  it('skip a torn last line', () => {
    const last = SMALLEST[2] ?? '';
    for (let length = 1; length < last.length; length++) {
      const { tree, problems } = read([...SMALLEST.slice(0, 2), last.slice(0, length)]);
      expect(problems).toHaveLength(1);
      expect(tree.leafId).toBe('aaaa0001');
    }
  });

  it.each([[[]], [['']], [['garbage']], [SMALLEST.slice(1)], [['{"type":"session"}']]])(
    '%j is no session',
    (lines) => {
      expect(() => read(lines)).toThrow('not a session file');
    },
  );

  it('of a newer format, or without ids, are rejected', () => {
    expect(() => read(['{"type":"session","version":4,"id":"x"}'])).toThrow('newer');
    expect(() => read(['{"type":"session","id":"x"}'])).toThrow('open a copy of it in pi');
  });

  it.each([
    ['"crc":"0badcafe"', XCSH[5] ?? ''],
    ['"crc":123', XCSH[3] ?? ''],
    ['"crc":"0badcafe"', XCSH[7] ?? ''],
  ])('a checksum %s is ignored', (crc, line) => {
    const entry = parseEntry(`${line.slice(0, -1)},${crc}}`);
    expect(entry).toEqual(parseEntry(line));
    expect(entry && encodeEntry(entry)).not.toContain('crc');
  });

  it('of unknown kinds are written again byte for byte', () => {
    const kind = fc.stringMatching(/^[a-z_]{1,12}$/).map((name) => `x_${name}`);
    const fields = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 });
    fc.assert(
      fc.property(kind, fields, fc.constantFrom(spaced, JSON.stringify), (type, extra, write) => {
        const line = write({ ...extra, type, id: 'a', parentId: null });
        const entry = parseEntry(line);
        expect(entry && encodeEntry(entry)).toBe(line);
      }),
    );
  });

  it('ignore surrounding white space', () => {
    const entry = parseEntry(' { "type":"x", "id":"a" }\r');
    expect(entry && encodeEntry(entry)).toBe('{"type":"x", "id":"a" }');
  });

  it.each([
    '{"type":"message","id":"a","parentId":null,"timestamp":"t","message":7}',
    '{"type":"compaction","id":"a","parentId":null,"timestamp":"t"}',
    '{"type":"model_change","id":"a","parentId":null,"timestamp":"t","model":"nameless"}',
    '{"type":"label","id":"a","parentId":null,"timestamp":"t"}',
    '{"type":"custom","id":"a","parentId":null}',
    '{"type":"custom_message","id":"a","parentId":null,"timestamp":"t","customType":"x","content":1}',
    '{"type":"branch_summary","id":"a","parentId":null,"timestamp":"t"}',
    '{"type":"thinking_level_change","id":"a","parentId":null,"timestamp":"t"}',
    '{"type":"session_info","id":"a","parentId":null,"timestamp":"t"}',
  ])('a known kind with an unknown shape is preserved: %s', (line) => {
    const entry = parseEntry(line);
    expect(entry?.type).toBe('unknown');
    expect(entry && encodeEntry(entry)).toBe(line);
  });

  it('have a fixed order of keys', () => {
    const header = { ...HEADER, title: 'T', titleSource: 'user' as const, parentSession: 'p.jsonl' };
    const line = encodeHeader(header);
    const keys = 'type version id timestamp cwd title titleSource parentSession';
    expect(Object.keys(JSON.parse(line)).join(' ')).toBe(keys);
    expect(parseLine(line)).toEqual({ kind: 'header', header });
    expect(parseEntry(line)).toBeUndefined();
    const tree = new SessionTree(HEADER, counting());
    const change = encodeEntry(tree.append({ modelId: 'm', provider: 'p', type: 'model_change' }));
    expect(change).toBe(
      '{"type":"model_change","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:02.000Z","model":"p/m","provider":"p","modelId":"m"}',
    );
  });
});

describe('facts', () => {
  it.each([
    [RUN_END, { runId: 'r', status: 'interrupted' as const }],
    [RUN_START, { runId: 'r', by: 'me', door: 'rpc', taskId: 't', overrides: { maxTurns: 2 } }],
    [TOOL_END, { callId: 'c', name: 'bash', message: { role: 'toolResult' } }],
    [QUEUED, { queueId: 'q', lane: 'steer' as const, content: [{ type: 'text', text: 'go' }] }],
    [UNQUEUED, { queueIds: ['q'] }],
    [
      APPROVAL_REQUEST,
      { approvalId: 'a', requestedAt: 't', tool: 'bash', arguments: '{}', title: 'ls', reason: 'why' },
    ],
    [APPROVAL_RESPONSE, { approvalId: 'a', status: 'denied' as const, at: 't', by: 'me', comment: 'no' }],
    [SETTINGS, { settings: { archived: true } }],
    [TODOS, { items: [] }],
    [SHELL_START, { shellId: 's', command: 'ls', private: true }],
    [SHELL_END, { shellId: 's', message: {} }],
    [ACCEPTED, {}],
    [MARK, {}],
    [FORK, { sessionId: 's', entryId: 'e' }],
  ])('$customType is restored and is not part of the conversation', (kind, value) => {
    const tree = new SessionTree(HEADER, counting());
    // @ts-expect-error -- each row's value belongs to its kind, which a table of different kinds cannot say
    const entry = tree.append(kind.body(value));
    const again = parseEntry(encodeEntry(entry));
    expect(again && kind.in(again)).toEqual(value);
    expect(again && isFact(again)).toBe(true);
    expect(conversation(tree).items).toEqual([]);
  });

  it('with unknown keys are read, and with another shape are not', () => {
    const greeting = factKind('greeting', field.record({ word: field.text }, { to: field.text }));
    const fact = (data: unknown) =>
      greeting.in({ type: 'custom', customType: 'polypod.greeting', data, ...PLACE });
    expect(fact({ word: 'hi', tomorrow: 1 })).toEqual({ word: 'hi' });
    expect(fact({ word: 'hi', to: 7 })).toEqual({ word: 'hi' });
    expect(fact({ word: 7 })).toBeUndefined();
    expect(fact(undefined)).toBeUndefined();
    expect(
      RUN_END.in({ type: 'custom', customType: 'polypod.greeting', data: {}, ...PLACE }),
    ).toBeUndefined();
    expect(isFact({ type: 'custom', customType: 'other', ...PLACE })).toBe(false);
  });

  it('carry the totals of the conversation', () => {
    const { tree } = read(SMALLEST);
    const { totals } = conversation(tree);
    tree.append(
      RUN_END.body({ runId: 'r', status: 'finished', ...(totals && { totals: { ...totals, turns: 9 } }) }),
    );
    expect(conversation(tree).totals).toEqual({ ...totals, turns: 9 });
  });
});

const PLACE = { id: 'a', parentId: null, timestamp: 't' };

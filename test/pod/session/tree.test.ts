import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Item } from '../../../src/llm/index.ts';
import {
  BRANCH,
  type Body,
  checkpointBody,
  compactionBody,
  conversation,
  type Header,
  SessionTree,
  type Source,
  TailReader,
} from '../../../src/pod/session/index.ts';
import { summaryItem } from '../../../src/worker/index.ts';
import {
  ANSWER,
  anyItem,
  counting,
  HEADER,
  linesOf,
  messageItem,
  readTree,
  messagesOf,
  parseEntry,
} from './samples.ts';

/** A session as plain lists: the messages at every entry, copied from its parent. */
interface TreeState {
  readonly parent: string | null;
  readonly items: readonly { readonly item: Item; readonly entryId: string }[];
  readonly model?: string;
  readonly level?: string;
  readonly turns: number;
  /** A label given here; null removes it. */
  readonly name?: string | null;
}

const START: TreeState = { parent: null, items: [], turns: 0 };

/** The tree and the lists, changed together. */
class TreeAndModel {
  tree = new SessionTree(HEADER, counting());
  moments = new Map<string, TreeState>();
  leaf: string | null = null;
  forks = 0;

  get now(): TreeState {
    return (this.leaf === null ? undefined : this.moments.get(this.leaf)) ?? START;
  }

  get name(): string | undefined {
    const given = [...this.moments.values()].filter(({ name }) => name !== undefined).at(-1);
    return given?.name ?? undefined;
  }

  pick(at: number): string | null {
    const ids = [null, ...this.moments.keys()];
    return ids[at % ids.length] ?? null;
  }

  append(body: Body, change: (id: string, now: TreeState) => Partial<TreeState> = () => ({})): void {
    const { id } = this.tree.append(body);
    const { name: _, ...now } = this.now;
    this.moments.set(id, { ...now, ...change(id, now), parent: this.leaf });
    this.leaf = id;
  }

  appendItems(items: readonly Item[]): void {
    // Adjacent answers become one message, so one item at a time keeps the lists simple.
    for (const item of items) {
      const [message] = messagesOf([item], ANSWER);
      if (message === undefined) throw new Error('no message');
      const isAnswer = message.role === 'assistant';
      this.append({ type: 'message', message }, (entryId, now) => ({
        items: [...now.items, { item, entryId }],
        ...(isAnswer ? { model: 'anthropic/claude-test', turns: now.turns + 1 } : {}),
      }));
    }
  }

  compact(at: number, checkpoint: boolean): void {
    const { items, entryIds } = conversation(this.tree);
    if (items.length === 0) return;
    const replaced = 1 + (at % items.length);
    const summary = `summary ${at}`;
    this.append(compactionBody({ entryIds }, { summary, replaced, tokensBefore: 1 }), (entryId, now) => ({
      items: [{ item: summaryItem(summary), entryId }, ...now.items.slice(replaced)],
    }));
    if (!checkpoint) return;
    const name = this.name ?? null;
    this.append(checkpointBody(conversation(this.tree)), () => ({ name }));
  }

  branch(at: number): void {
    this.leaf = this.pick(at);
    this.tree.branchTo(this.leaf);
    this.append(BRANCH.body({}));
  }

  fork(at: number): void {
    this.leaf = this.pick(at);
    const header: Header = { ...HEADER, id: `fork ${this.forks++}`, parentSession: 'parent.jsonl' };
    this.tree = this.tree.fork(this.leaf, header);
    const way = new Set<string>();
    for (let id = this.leaf; id !== null; id = this.moments.get(id)?.parent ?? null) way.add(id);
    this.moments = new Map([...this.moments].filter(([id]) => way.has(id)));
  }

  unknown(kind: string): void {
    const id = `unknown${this.moments.size}`;
    const entry = parseEntry(JSON.stringify({ type: `new_${kind}`, parentId: this.leaf, id, x: 1 }));
    if (entry === undefined || !this.tree.add(entry)) return;
    const { name: _, ...now } = this.now;
    this.moments.set(id, { ...now, parent: this.leaf });
    this.leaf = id;
  }

  reopen(): void {
    const lines = linesOf(this.tree);
    const { tree, problems } = readTree(lines, counting(this.moments.size + 1));
    expect(problems).toEqual([]);
    expect(linesOf(tree)).toEqual(lines);
    this.tree = tree;
  }

  compare(): void {
    const { items, model, level, turns } = this.now;
    const found = conversation(this.tree);
    expect(found.items).toEqual(items.map(({ item }) => item));
    expect(found.entryIds).toEqual(items.map(({ entryId }) => entryId));
    expect(found.model && `${found.model.provider}/${found.model.modelId}`).toBe(model);
    expect(found.thinkingLevel).toBe(level);
    expect(found.totals?.turns).toBe(turns);
    expect(found.name).toBe(this.name);
  }

  compareFromEnd(): void {
    const found = conversation(this.tree);
    const backwards = linesOf(this.tree).toReversed();
    const tail = contextFromEnd(backwards, this.tree.header, counting());
    expect(tail.tree.leafId).toBe(this.tree.leafId);
    expect(conversation(tail.tree)).toEqual(found);
  }
}

const simpleItem: fc.Arbitrary<Item> = fc.oneof(
  { weight: 4, arbitrary: fc.nat(99).map((at) => messageItem('user', `${at}`)) },
  { weight: 4, arbitrary: fc.nat(99).map((at) => messageItem('assistant', `${at}`)) },
  anyItem,
);

const step: fc.Arbitrary<(both: TreeAndModel) => void> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(simpleItem, { minLength: 1, maxLength: 3 })
      .map((items) => (both: TreeAndModel) => both.appendItems(items)),
  },
  { weight: 2, arbitrary: fc.nat(50).map((at) => (both: TreeAndModel) => both.branch(at)) },
  fc.nat(50).map((at) => (both: TreeAndModel) => both.fork(at)),
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(20), fc.boolean())
      .map((given) => (both: TreeAndModel) => both.compact(...given)),
  },
  fc.constant((both: TreeAndModel) => both.reopen()),
  fc.constantFrom('a', 'b').map((kind) => (both: TreeAndModel) => both.unknown(kind)),
  fc
    .constantFrom('gpt', 'x/y')
    .map(
      (modelId) => (both: TreeAndModel) =>
        both.append({ type: 'model_change', provider: 'p', modelId }, () => ({ model: `p/${modelId}` })),
    ),
  fc
    .constantFrom('off', 'high')
    .map(
      (level) => (both: TreeAndModel) =>
        both.append({ type: 'thinking_level_change', thinkingLevel: level }, () => ({ level })),
    ),
  fc
    .constantFrom('one', 'two', '')
    .map(
      (name) => (both: TreeAndModel) =>
        both.append({ type: 'session_info', name }, () => ({ name: name || null })),
    ),
);

describe('the tree', () => {
  it('equals plain lists after any sequence of operations', () => {
    let compacted = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
        const both = new TreeAndModel();
        for (const [at, step] of steps.entries()) {
          step(both);
          both.compare();
          if (at % 5 === 0) both.compareFromEnd();
        }
        compacted += both.tree.path().filter(({ type }) => type === 'compaction').length;
        both.reopen();
        both.compare();
        both.compareFromEnd();
      }),
      { numRuns: 100 },
    );
    expect(compacted).toBeGreaterThan(20);
  });

  const grown = () => {
    const tree = new SessionTree(HEADER, counting());
    const appendUserMessage = (text: string) =>
      tree.append({ type: 'message', message: { role: 'user', content: text } });
    return { tree, appendUserMessage };
  };
  const texts = (tree: SessionTree) =>
    conversation(tree).items.map((item) => (item.type === 'message' ? item.content : []));

  it('branches', () => {
    const { tree, appendUserMessage } = grown();
    const [a, b] = [appendUserMessage('a'), appendUserMessage('b')];
    tree.branchTo(a.id);
    const c = appendUserMessage('c');
    expect(tree.children(a.id)).toEqual([b, c]);
    expect(tree.children(null)).toEqual([a]);
    expect(tree.path()).toEqual([a, c]);
    expect(tree.path(b.id)).toEqual([a, b]);
    expect(() => tree.branchTo('none')).toThrow('there is no entry none');
    expect(tree.leafId).toBe(c.id);
  });

  it('forks with the ids of the path, and copies labels from all branches', () => {
    const { tree, appendUserMessage } = grown();
    const a = appendUserMessage('a');
    tree.append({ type: 'label', targetId: a.id, label: 'on the way' });
    const b = appendUserMessage('b');
    tree.append({ type: 'label', targetId: b.id, label: 'later' });
    tree.append({ type: 'label', targetId: a.id, label: 'renamed' });
    const fork = tree.fork(b.id, { ...HEADER, id: 'child', parentSession: 'parent.jsonl' });
    expect(fork.header.parentSession).toBe('parent.jsonl');
    expect([...fork.labels]).toEqual([
      [a.id, 'renamed'],
      [b.id, 'later'],
    ]);
    expect(fork.path().slice(0, 3)).toEqual(tree.path(b.id));
    expect(texts(fork)).toHaveLength(2);
    expect(readTree(linesOf(fork), counting()).tree.labels).toEqual(fork.labels);
  });

  it('never uses an id twice', () => {
    const ids = ['aaaaaaaa', 'aaaaaaaa', 'aaaaaaaa', 'bbbbbbbb'];
    const tree = new SessionTree(HEADER, { newId: () => ids.shift() ?? 'cccccccc', now: () => new Date(0) });
    const body: Body = { type: 'session_info', name: 'x' };
    expect([tree.append(body).id, tree.append(body).id, tree.append(body).id]).toEqual([
      'aaaaaaaa',
      'bbbbbbbb',
      'cccccccc',
    ]);
    expect(() => tree.append(body)).toThrow('taken');
  });

  it('appends in constant time', () => {
    const { tree, appendUserMessage } = grown();
    for (let at = 0; at < 50_000; at++) appendUserMessage('x');
    expect(tree.size).toBe(50_000);
    expect(tree.path()).toHaveLength(50_000);
  });
});

function contextFromEnd(linesBackwards: Iterable<string>, header: Header, source: Source) {
  const reader = new TailReader(header, source);
  for (const line of linesBackwards) if (!reader.take(line)) break;
  return reader.end();
}

describe('reading from the end', () => {
  it('stops at the first entry that the last compaction kept', () => {
    const tree = new SessionTree(HEADER, counting());
    const appendUserMessage = (text: string) =>
      tree.append({ type: 'message', message: { role: 'user', content: text } });
    for (let at = 0; at < 1000; at++) appendUserMessage(`old ${at}`);
    const kept = appendUserMessage('kept');
    const { entryIds } = conversation(tree);
    tree.append(compactionBody({ entryIds }, { summary: 's', replaced: 1000, tokensBefore: 9 }));
    tree.append(checkpointBody(conversation(tree), { mode: 'read-only' }));
    appendUserMessage('new');
    let taken = 0;
    function* counted() {
      for (const line of linesOf(tree).toReversed()) {
        taken += 1;
        yield line;
      }
    }
    const tail = contextFromEnd(counted(), HEADER, counting());
    expect(taken).toBe(4);
    expect(tail.whole).toBe(false);
    expect(tail.tree.path()[0]).toEqual(kept);
    expect(conversation(tail.tree)).toEqual(conversation(tree));
    expect(conversation(tail.tree).items).toEqual([
      summaryItem('s'),
      messageItem('user', 'kept'),
      messageItem('user', 'new'),
    ]);
  });

  it('skips earlier compactions', () => {
    const tree = new SessionTree(HEADER, counting());
    const appendUserMessage = (text: string) =>
      tree.append({ type: 'message', message: { role: 'user', content: text } });
    const [first] = Array.from({ length: 100 }, (_, at) => appendUserMessage(`old ${at}`));
    const kept = appendUserMessage('kept');
    const compact = (firstKeptEntryId = '') =>
      tree.append({ type: 'compaction', summary: 's', firstKeptEntryId, tokensBefore: 9 });
    compact(first?.id);
    appendUserMessage('between');
    compact(kept.id);
    tree.append(checkpointBody(conversation(tree), {}));
    const tail = contextFromEnd(linesOf(tree).toReversed(), HEADER, counting());
    expect(tail.tree.size).toBe(5);
    expect(conversation(tail.tree).items).toEqual(conversation(tree).items);
  });

  it('reads to the first line without a compaction, and skips lines that it cannot read', () => {
    const tree = new SessionTree(HEADER, counting());
    tree.append({ type: 'message', message: { role: 'user', content: 'a' } });
    tree.append({ type: 'message', message: { role: 'user', content: 'b' } });
    const tail = contextFromEnd([...linesOf(tree), '{"torn'].toReversed(), HEADER, counting());
    expect(tail.whole).toBe(true);
    expect(conversation(tail.tree)).toEqual(conversation(tree));
  });

  it('rejects a newer format', () => {
    expect(() => contextFromEnd([], { ...HEADER, version: 4 }, counting())).toThrow('newer');
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { temporaryDirectory } from '../../cli/polypod.ts';
import { Program } from './program.ts';

interface Node {
  readonly entry: { readonly id: string };
  readonly children: readonly Node[];
  readonly label?: string;
}

const TIMESTAMP = '2026-11-01T10:00:00.000Z';

function sessionFile(entries: readonly JsonObject[]): string {
  const directory = temporaryDirectory();
  const file = join(directory, 'long.jsonl');
  const header = { type: 'session', version: 3, id: '0192', timestamp: TIMESTAMP, cwd: directory };
  writeFileSync(file, [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(''));
  return file;
}

function message(id: string, parentId: string | null): JsonObject {
  const content = [{ type: 'text', text: `message ${id}` }];
  return { type: 'message', id, parentId, timestamp: TIMESTAMP, message: { role: 'user', content } };
}

describe('get_tree', () => {
  it('returns a session of 20,000 entries, each a child of the one before', async () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => index.toString(16).padStart(8, '0'));
    const file = sessionFile(ids.map((id, index) => message(id, ids[index - 1] ?? null)));
    const program = new Program(['--session', file]);
    const { tree } = await program.get('get_tree');
    const chain: string[] = [];
    for (let nodes = tree as readonly Node[]; nodes[0] !== undefined; nodes = nodes[0].children)
      chain.push(nodes[0].entry.id);
    expect(chain.slice(0, ids.length)).toEqual(ids);
  });

  it('returns branches in the order of the file, and labels', async () => {
    const label = {
      type: 'label',
      id: 'd',
      parentId: 'c',
      timestamp: TIMESTAMP,
      targetId: 'b',
      label: 'try "2"',
    };
    const file = sessionFile([message('a', null), message('b', 'a'), message('c', 'a'), label]);
    const program = new Program(['--session', file]);
    const { tree, leafId } = await program.get('get_tree');
    const shape = ({ entry, children, label: name }: Node): unknown => [
      entry.id,
      ...(name === undefined ? [] : [name]),
      ...children.map(shape),
    ];
    const [root] = tree as readonly Node[];
    expect(root && shape(root)).toMatchObject(['a', ['b', 'try "2"'], ['c', ['d']]]);
    expect(typeof leafId).toBe('string');
  });
});

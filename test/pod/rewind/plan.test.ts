import { describe, expect, it } from 'vitest';
import type { FileChangeRecord } from '../../../src/pod/event.ts';
import { planFiles, planRewind, rewindPoints } from '../../../src/pod/rewind/plan.ts';
import {
  BRANCH,
  type Entry,
  FILE_CHANGE,
  FORK,
  REWIND,
  SessionTree,
} from '../../../src/pod/session/index.ts';

const version = (hash: string) => ({ hash, mode: 0o644 });

/** `A-B` is a change from A to B; `-` alone on a side is a missing file. */
function change(path: string, from: string, to: string, callId?: string): FileChangeRecord {
  return {
    path,
    ...(from !== '' && { before: version(from) }),
    ...(to !== '' && { after: version(to) }),
    ...(callId !== undefined && { callId }),
  };
}

class Session {
  #ids = 0;
  readonly tree = new SessionTree(
    { id: 's', version: 3, timestamp: '', cwd: '/project' },
    { newId: () => String((this.#ids += 1)).padStart(8, '0'), now: () => new Date(0) },
  );

  prompt(text: string): string {
    return this.tree.append({ type: 'message', message: { role: 'user', content: text } }).id;
  }

  answer(): string {
    return this.tree.append({ type: 'message', message: { role: 'assistant', content: [] } }).id;
  }

  result(): string {
    return this.tree.append({ type: 'message', message: { role: 'toolResult', content: [] } }).id;
  }

  change(...args: Parameters<typeof change>): Entry {
    return this.tree.append(FILE_CHANGE.body(change(...args)));
  }

  /** As the command records it. */
  rewind(target: string, leaf: string | null, files: readonly Parameters<typeof change>[]): string {
    for (const file of files) this.change(...file);
    const from = this.tree.leafId ?? 'root';
    this.tree.branchTo(leaf);
    this.tree.append(BRANCH.body({ from }));
    return this.tree.append(REWIND.body({ target, parts: 'both', from, files: [] })).id;
  }
}

const targets = (session: Session, entryId: string) =>
  planRewind(session.tree, entryId).files.map(({ path, target }) => [path, target?.hash ?? 'none']);

describe('the plan of a rewind', () => {
  it('returns each file to its version before the first change', () => {
    const [file] = planFiles([change('/a', 'A', 'B'), change('/a', 'B', 'C')]);
    expect(file).toEqual({
      path: '/a',
      target: version('A'),
      known: [version('C'), version('B')],
      isMixed: false,
      directories: [],
    });
  });

  it('removes a file that was created, and creates one that was removed', () => {
    const files = planFiles([change('/new', '', 'B'), change('/old', 'A', '')]);
    expect(files.map(({ target }) => target)).toEqual([undefined, version('A')]);
  });

  it.each<[string, readonly FileChangeRecord[], boolean]>([
    ['consecutive changes', [change('/a', 'A', 'B'), change('/a', 'B', 'C')], false],
    ['a change by somebody else in between', [change('/a', 'A', 'B'), change('/a', 'X', 'C')], true],
    ['a removal by somebody else in between', [change('/a', 'A', 'B'), change('/a', '', 'C')], true],
    ['a recorded change that did not happen', [change('/a', 'A', 'B'), change('/a', 'A', 'C')], false],
    [
      'a version that was too large to be saved',
      [{ path: '/a', before: version('A'), after: { mode: 1 } }, change('/a', 'B', 'C')],
      true,
    ],
  ])('tells whether somebody else wrote: %s', (_, changes, isMixed) => {
    expect(planFiles(changes)[0]?.isMixed).toBe(isMixed);
  });

  it('covers all prompts since the point, and leaves earlier changes alone', () => {
    const session = new Session();
    const one = session.prompt('one');
    session.change('/a', 'A', 'B', 'c1');
    session.answer();
    const two = session.prompt('two');
    session.change('/a', 'B', 'C', 'c2');
    session.change('/b', '', 'X', 'c3');
    expect(targets(session, two)).toEqual([
      ['/a', 'B'],
      ['/b', 'none'],
    ]);
    expect(targets(session, one)).toEqual([
      ['/a', 'A'],
      ['/b', 'none'],
    ]);
  });

  it('covers changes of an abandoned branch: the files still have them', () => {
    const session = new Session();
    const one = session.prompt('one');
    const answered = session.answer();
    session.prompt('two');
    session.change('/b', 'X', 'Y', 'c1');
    session.tree.branchTo(answered);
    const three = session.prompt('three');
    session.change('/c', 'M', 'N', 'c2');
    expect(targets(session, three)).toEqual([['/c', 'M']]);
    expect(targets(session, one)).toEqual([
      ['/b', 'X'],
      ['/c', 'M'],
    ]);
  });

  it('ignores changes that were recorded before a fork: another session saved their versions', () => {
    const session = new Session();
    const one = session.prompt('one');
    session.change('/a', 'A', 'B', 'c1');
    session.tree.append(FORK.body({ sessionId: 'parent' }));
    session.change('/a', 'B', 'C', 'c2');
    expect(targets(session, one)).toEqual([['/a', 'B']]);
  });

  it('rejects an entry that is no prompt', () => {
    const session = new Session();
    session.prompt('one');
    const answered = session.answer();
    for (const id of [answered, 'nothing'])
      expect(() => planRewind(session.tree, id)).toThrow(`there is no prompt ${id}`);
  });
});

describe('the points of a conversation', () => {
  it('are its prompts with the files changed by each, without messages that steered a run', () => {
    const session = new Session();
    session.prompt('one');
    session.change('/a', 'A', 'B', 'c1');
    session.result();
    session.prompt('steering');
    session.answer();
    session.prompt('two');
    const { points } = rewindPoints(session.tree);
    expect(points.map(({ text, files }) => [text, files])).toEqual([
      ['one', 1],
      ['two', 0],
    ]);
  });

  it('include the last rewind until a prompt follows; undoing it offers the one before', () => {
    const session = new Session();
    const one = session.prompt('one');
    const answered = session.answer();
    const two = session.prompt('two');
    const first = session.rewind(two, answered, []);
    const second = session.rewind(one, null, []);
    expect(rewindPoints(session.tree).redo?.entryId).toBe(second);
    session.rewind(second, planRewind(session.tree, second).leaf ?? null, []);
    expect(rewindPoints(session.tree).redo?.entryId).toBe(first);
    session.prompt('three');
    expect(rewindPoints(session.tree).redo).toBeUndefined();
  });

  it('undoing a rewind returns to the files and the leaf before it, also if it was interrupted and repeated', () => {
    const session = new Session();
    const one = session.prompt('one');
    session.change('/a', 'A', 'B', 'c1');
    session.change('/b', 'X', 'Y', 'c2');
    session.answer();
    // The first attempt ended after one file.
    session.change('/a', 'B', 'A');
    const leaf = session.tree.leafId;
    const rewound = session.rewind(one, null, [['/b', 'Y', 'X']]);
    expect(targets(session, rewound)).toEqual([
      ['/a', 'B'],
      ['/b', 'Y'],
    ]);
    expect(leaf).not.toBeNull();
    expect(session.tree.get(planRewind(session.tree, rewound).leaf ?? '')).toBeDefined();
  });
});

import { shape } from '../../base/index.ts';
import type { TodoItem } from '../../tools/index.ts';
import { TODO } from '../command.ts';
import { type SessionTree, TODOS } from '../session/index.ts';

/** The to-do list at the leaf of a session; undefined if the part of the path that has it is not loaded. */
export function todosAtLeaf(tree: SessionTree): readonly TodoItem[] | undefined {
  const path = tree.path();
  const last = path.findLast((entry) => TODOS.in(entry) !== undefined);
  if (last === undefined) return (path[0]?.parentId ?? null) === null ? [] : undefined;
  return shape.listOf(TODO).read(TODOS.in(last)?.items, [], () => {}) ?? [];
}

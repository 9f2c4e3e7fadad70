import type { AgentMessage, Entry, SessionTree } from '../session/index.ts';

/** A message of a person. */
export interface Prompt {
  readonly entryId: string;
  /** The entry that it follows, `root` for none: where a branch without it begins. */
  readonly before: string;
  readonly message: AgentMessage;
  /** Whether it belongs to the current conversation, and not to another branch. */
  readonly isCurrent: boolean;
}

/** All messages of people, on every branch, in the order of the file. */
export function promptsIn(tree: SessionTree): readonly Prompt[] {
  const current = new Set<Entry>(tree.path());
  return [...tree.entries()].flatMap((entry) =>
    entry.type === 'message' && entry.message.role === 'user'
      ? [
          {
            entryId: entry.id,
            before: entry.parentId ?? 'root',
            message: entry.message,
            isCurrent: current.has(entry),
          },
        ]
      : [],
  );
}

import type { AgentMessage, Entry, SessionTree } from '../session/index.ts';

/** A user message. */
export interface Prompt {
  readonly entryId: string;
  /** The entry before it, or `root`: where a branch that replaces it starts. */
  readonly before: string;
  readonly message: AgentMessage;
  /** Whether it is part of the current branch. */
  readonly isCurrent: boolean;
}

/** All user messages, on every branch, in file order. */
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

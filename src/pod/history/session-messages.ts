import { withoutUndefined } from '../../base/index.ts';
import type { AgentMessage, Entry, SessionTree } from '../session/index.ts';

/** A message of the conversation as stored in the file, and the entry that records it. */
export interface SessionMessage {
  readonly entryId: string;
  readonly message: AgentMessage;
}

/** The conversation at the leaf in the message format of pi and xcsh, for their clients. */
export function sessionMessages(tree: SessionTree): readonly SessionMessage[] {
  const path = tree.path();
  const at = path.findLastIndex(({ type }) => type === 'compaction');
  const compaction = path[at];
  if (compaction?.type !== 'compaction') return path.flatMap(messagesIn);
  const before = path.slice(0, at);
  const first = before.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  const { summary, shortSummary, tokensBefore } = compaction;
  const message = {
    role: 'compactionSummary',
    summary,
    ...withoutUndefined({ shortSummary }),
    tokensBefore,
    timestamp: Date.parse(compaction.timestamp),
  };
  return [
    { entryId: compaction.id, message },
    ...(first < 0 ? [] : before.slice(first)).flatMap(messagesIn),
    ...path.slice(at + 1).flatMap(messagesIn),
  ];
}

function messagesIn(entry: Entry): readonly SessionMessage[] {
  const message = messageIn(entry);
  return message === undefined ? [] : [{ entryId: entry.id, message }];
}

function messageIn(entry: Entry): AgentMessage | undefined {
  const timestamp = Date.parse(entry.timestamp);
  switch (entry.type) {
    case 'message': {
      const { polypod: _, ...message } = entry.message;
      return { ...message, role: entry.message.role };
    }
    case 'custom_message': {
      const { customType, content, display, details } = entry;
      return {
        role: 'custom',
        customType,
        content,
        display,
        ...withoutUndefined({ details }),
        timestamp,
      };
    }
    case 'branch_summary':
      return { role: 'branchSummary', summary: entry.summary, fromId: entry.fromId, timestamp };
    default:
      return undefined;
  }
}

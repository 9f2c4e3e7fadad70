import {
  type RecordedCompaction,
  compactionIn,
  type ConversationPart,
  conversationParts,
  entriesAfter,
  type EntryNode,
  entryNodes,
  isCompacted,
  type Prompt,
  promptsIn,
  type RecordedEntries,
  type SessionMessage,
  sessionMessages,
  type TaskHistory,
  taskIn,
} from '../history/index.ts';
import type { SessionReader } from './session-reader.ts';

/** Answers queries about recorded history, also after a restart. */
export class SessionHistory {
  readonly #reader: SessionReader;

  constructor(reader: SessionReader) {
    this.#reader = reader;
  }

  /** The conversation as people saw it, including the sessions that it was forked from. */
  async conversation(id: string): Promise<readonly ConversationPart[]> {
    return conversationParts((await this.#reader.whole(id)).path(), id);
  }

  /** The conversation as sent to the model, in the message format of pi and xcsh. */
  async messages(id: string): Promise<readonly SessionMessage[]> {
    return sessionMessages(await this.#reader.loaded(id));
  }

  /** The user messages on every branch. */
  async prompts(id: string): Promise<readonly Prompt[]> {
    return promptsIn(await this.#reader.whole(id));
  }

  /** A task of a session; undefined if the session has no such task. */
  async task(id: string, taskId: string): Promise<TaskHistory | undefined> {
    return taskIn(await this.#reader.whole(id), taskId);
  }

  /** All entries, or those after an entry; undefined if that entry does not exist. */
  async entries(id: string, after?: string): Promise<RecordedEntries | undefined> {
    return entriesAfter(await this.#reader.whole(id), after);
  }

  /** All entries as a tree, and the leaf. */
  async tree(id: string): Promise<{ readonly roots: readonly EntryNode[]; readonly leafId: string | null }> {
    const tree = await this.#reader.whole(id);
    return { roots: entryNodes(tree), leafId: tree.leafId };
  }

  /** Whether the session has no entries. */
  async isEmpty(id: string): Promise<boolean> {
    return (await this.#reader.loaded(id)).leafId === null;
  }

  /** Whether nothing was added to the conversation since the last compaction. */
  async isCompacted(id: string): Promise<boolean> {
    return isCompacted(await this.#reader.whole(id));
  }

  /** The compaction that an entry records, or undefined. */
  async compaction(id: string, entryId: string): Promise<RecordedCompaction | undefined> {
    return compactionIn(await this.#reader.whole(id), entryId);
  }
}

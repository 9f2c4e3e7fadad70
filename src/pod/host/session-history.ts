import {
  type Compaction,
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

/** Answers questions about what sessions have recorded, also after a restart. */
export class SessionHistory {
  readonly #reader: SessionReader;

  constructor(reader: SessionReader) {
    this.#reader = reader;
  }

  /** The conversation as people saw it, with the sessions that it was forked from. */
  async conversation(id: string): Promise<readonly ConversationPart[]> {
    return conversationParts((await this.#reader.whole(id)).path(), id);
  }

  /** The conversation as the model is sent it, in the words of pi and xcsh. */
  async messages(id: string): Promise<readonly SessionMessage[]> {
    return sessionMessages(await this.#reader.loaded(id));
  }

  /** The messages of people, on every branch. */
  async prompts(id: string): Promise<readonly Prompt[]> {
    return promptsIn(await this.#reader.whole(id));
  }

  /** A task of a session; undefined if the session has none with this id. */
  async task(id: string, taskId: string): Promise<TaskHistory | undefined> {
    return taskIn(await this.#reader.whole(id), taskId);
  }

  /** All entries, or those after one of them; undefined if there is no such entry. */
  async entries(id: string, after?: string): Promise<RecordedEntries | undefined> {
    return entriesAfter(await this.#reader.whole(id), after);
  }

  /** All entries as a tree, and the one that the next entry follows. */
  async tree(id: string): Promise<{ readonly roots: readonly EntryNode[]; readonly leafId: string | null }> {
    const tree = await this.#reader.whole(id);
    return { roots: entryNodes(tree), leafId: tree.leafId };
  }

  /** Whether nothing has been recorded. */
  async isEmpty(id: string): Promise<boolean> {
    return (await this.#reader.loaded(id)).leafId === null;
  }

  /** Whether nothing was added to the conversation since the last compaction. */
  async isCompacted(id: string): Promise<boolean> {
    return isCompacted(await this.#reader.whole(id));
  }

  /** The compaction that an entry records, if it does. */
  async compaction(id: string, entryId: string): Promise<Compaction | undefined> {
    return compactionIn(await this.#reader.whole(id), entryId);
  }
}

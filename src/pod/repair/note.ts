/** A change that a repair made, or a loss that it could not repair. */
export interface Note {
  readonly kind: /** A damaged line was restored. */
    | 'restored'
    /** Bytes, or an entry of which only the id is known, are lost. */
    | 'lost'
    /** An entry has a new parent. */
    | 'relinked'
    /** A line that readers skip was removed. */
    | 'repeated'
    | 'unfinished'
    /** The header was rebuilt. */
    | 'header'
    /** A tool call without a result got one; a result without a call was set aside. */
    | 'call-closed'
    | 'result-set-aside'
    /** The call id of a result was changed to match its call. */
    | 'result-renamed'
    /** The first kept entry of a compaction was changed. */
    | 'compaction'
    /** The approval of a lost call was cancelled. */
    | 'approval';
  readonly text: string;
  /** Its position in the damaged file. */
  readonly line?: number;
  /** The entry. */
  readonly id?: string;
  /** The id of the lost entry. */
  readonly lostId?: string;
  /** For lost bytes: their offset and number. */
  readonly offset?: number;
  readonly bytes?: number;
}

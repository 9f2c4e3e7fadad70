/** What was done to a file, and what could not be. */
export interface Note {
  readonly kind: /** A damaged line is as it was written again. */
    | 'restored'
    /** Bytes, or an entry that is only known by its id, are gone. */
    | 'lost'
    /** An entry hangs on another one now. */
    | 'relinked'
    /** A line that readers pass over was left out. */
    | 'repeated'
    | 'unfinished'
    /** The header was made anew. */
    | 'header'
    /** A tool call without a result got one; a result without a call was put aside. */
    | 'call-closed'
    | 'result-set-aside'
    /** A result names its call as the call does. */
    | 'result-renamed'
    /** What a compaction keeps begins elsewhere. */
    | 'compaction'
    /** A question about a lost call was withdrawn. */
    | 'approval';
  readonly text: string;
  /** Where it stood in the damaged file. */
  readonly line?: number;
  /** The entry. */
  readonly id?: string;
  /** The entry that is lost. */
  readonly lostId?: string;
  /** Of bytes that are lost: where they stood, and how many. */
  readonly offset?: number;
  readonly bytes?: number;
}

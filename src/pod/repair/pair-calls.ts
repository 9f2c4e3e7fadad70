import { arrayOf, objectOf, stringOf, withoutUndefined } from '../../base/index.ts';
import { textContent } from '../../llm/index.ts';
import {
  type AgentMessage,
  callIdOf,
  type Entry,
  itemsOf,
  ORPHANED_RESULT,
  resultMessage,
  TOOL_END,
} from '../session/index.ts';
import type { Note } from './note.ts';
import { type RepairRow, withParent } from './relink.ts';

/** A call without a result, as recorded in the file. */
interface OpenCall {
  readonly id: string;
  readonly name: string;
}

/** The state after an entry: calls without a result, and results that came out of order. */
interface Turn {
  readonly open: ReadonlyMap<string, OpenCall>;
  readonly early: ReadonlyMap<string, AgentMessage>;
}

const QUIET: Turn = { open: new Map(), early: new Map() };

export interface PairOptions {
  readonly newId: () => string;
  readonly now: () => Date;
}

export interface PairedCalls {
  readonly rows: readonly RepairRow[];
  readonly notes: readonly Note[];
  /** The calls that are open at the leaf. */
  readonly openAtLeaf: ReadonlySet<string>;
  /** Entries with results for the calls at the leaf. */
  readonly closeLeaf: (leafId: string) => readonly RepairRow[];
}

/**
 * Pairs calls and results on every branch: providers reject a call without a result, and a result without a call. The rows are in
 * order, every parent before its children.
 */
export function pairCalls(
  rows: readonly RepairRow[],
  leafId: string | null,
  options: PairOptions,
): PairedCalls {
  const pairing = new Pairing(options);
  for (const row of rows) pairing.take(row);
  const turn = pairing.turnAt(leafId);
  return {
    rows: pairing.rows,
    notes: pairing.notes,
    openAtLeaf: new Set(turn.open.keys()),
    closeLeaf: (at) => pairing.results(turn, at),
  };
}

class Pairing {
  readonly rows: RepairRow[] = [];
  readonly notes: Note[] = [];
  readonly #options: PairOptions;
  readonly #turns = new Map<string, Turn>();

  constructor(options: PairOptions) {
    this.#options = options;
  }

  turnAt(id: string | null): Turn {
    return (id === null ? undefined : this.#turns.get(id)) ?? QUIET;
  }

  take(row: RepairRow): void {
    const { entry } = row;
    const before = this.turnAt(entry.parentId);
    const ended = TOOL_END.in(entry);
    if (ended !== undefined) {
      const message: AgentMessage = { role: 'toolResult', ...ended.message };
      this.#put(row, { ...before, early: new Map([...before.early, [ended.callId, message]]) });
      return;
    }
    const result = resultIn(entry);
    if (result !== undefined) return this.#takeResult(row, result, before);
    if (!isMessage(entry)) return this.#put(row, before);
    const results = this.results(before, entry.parentId ?? '');
    const parentId = results.at(-1)?.entry.id;
    this.rows.push(...results);
    const moved = parentId === undefined ? row : { entry: withParent(entry, parentId), ...lineOf(row) };
    this.#put(moved, { open: callsIn(entry), early: new Map() });
  }

  /** Creates results for the calls that have none, each the parent of the next. */
  results({ open, early }: Turn, after: string): readonly RepairRow[] {
    let parentId = after;
    return [...open].map(([callId, call]) => {
      const found = early.get(callId);
      const entry = this.#result(call, found, parentId);
      const text = `the result of the call ${callId} (${call.name}) ${found === undefined ? 'is lost; a result that says so replaces it' : 'is moved after its call'}`;
      this.notes.push({ kind: 'call-closed', id: entry.id, text });
      parentId = entry.id;
      return { entry };
    });
  }

  #takeResult(row: RepairRow, callId: string, before: Turn): void {
    const { entry, line } = row;
    if (entry.type !== 'message') return;
    const call = before.open.get(callId);
    if (call !== undefined) {
      const open = new Map(before.open);
      open.delete(callId);
      this.#put(this.#namedAs(call, row, entry), { ...before, open });
      return;
    }
    const { id, parentId, timestamp, extras } = entry;
    const fact = ORPHANED_RESULT.body({ message: entry.message });
    const kept: Entry = { ...fact, id, parentId, timestamp, ...withoutUndefined({ extras }) };
    const text = `the call ${callId} of this result is lost: the result is kept, and the model does not see it`;
    this.notes.push({ kind: 'result-set-aside', id, text, ...(line && { line }) });
    this.#put({ entry: kept, ...lineOf(row) }, before);
  }

  /** Other programs pair calls and results by the whole id, of which the provider sees the first part. */
  #namedAs({ id }: OpenCall, row: RepairRow, entry: Extract<Entry, { type: 'message' }>): RepairRow {
    if (entry.message.toolCallId === id) return row;
    const text = `the call id of the result was changed to ${id}, as in the call`;
    this.notes.push({ kind: 'result-renamed', id: entry.id, text, ...lineOf(row) });
    return { entry: { ...entry, message: { ...entry.message, toolCallId: id } }, ...lineOf(row) };
  }

  #result({ id: toolCallId, name }: OpenCall, found: AgentMessage | undefined, parentId: string): Entry {
    const now = this.#options.now();
    const item = {
      type: 'tool-result',
      callId: callIdOf(toolCallId),
      content: textContent(LOST),
      isError: true,
    } as const;
    const message = found ?? { ...resultMessage(item, name, now.getTime()), toolCallId };
    const header = { id: this.#options.newId(), parentId, timestamp: now.toISOString() };
    return { type: 'message', message, ...header };
  }

  #put(row: RepairRow, turn: Turn): void {
    this.rows.push(row);
    this.#turns.set(row.entry.id, turn);
  }
}

const LOST =
  'The result of this call is lost: the session file was damaged. The call may or may not have taken effect; check before you do it again.';

function lineOf({ line }: RepairRow): Pick<RepairRow, 'line'> {
  return line === undefined ? {} : { line };
}

/** The call whose result an entry records. */
function resultIn(entry: Entry): string | undefined {
  if (entry.type !== 'message' || entry.message.role !== 'toolResult') return undefined;
  const [item] = itemsOf(entry.message);
  return item?.type === 'tool-result' ? item.callId : callIdOf(stringOf(entry.message.toolCallId));
}

/** Whether an entry adds something to what the model receives. */
function isMessage(entry: Entry): boolean {
  switch (entry.type) {
    case 'message':
      return itemsOf(entry.message).length > 0;
    case 'custom_message':
    case 'branch_summary':
    case 'compaction':
      return true;
    default:
      return false;
  }
}

function callsIn(entry: Entry): ReadonlyMap<string, OpenCall> {
  if (entry.type !== 'message') return QUIET.open;
  const blocks = arrayOf(entry.message.content).map(objectOf);
  const calls = itemsOf(entry.message).flatMap((item) => {
    if (item.type !== 'tool-call') return [];
    // Other programs pair calls and results by the whole id.
    const block = blocks.find(
      ({ type, id }) => type === 'toolCall' && callIdOf(stringOf(id)) === item.callId,
    );
    const id = block === undefined ? item.callId : stringOf(block.id);
    return [[item.callId, { id, name: item.name }] as const];
  });
  return new Map(calls);
}

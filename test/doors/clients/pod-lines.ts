import { objectOf, stringOf } from '../../../src/base/index.ts';
import type { JsonLine } from '../lines.ts';
import { type DoorLine, doorLine, deltaLine } from '../door-line.ts';

/** The fields of each event that the log determines. Other events are not in the protocol. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  turn_start: ['turn'],
  turn_end: ['turn', 'result'],
  text_done: ['text'],
  thinking_done: ['text'],
  tool_call_start: ['id', 'name'],
  tool_call_done: ['id', 'name', 'arguments'],
  tool_result: ['id', 'output', 'is_error'],
  status: ['state', 'detail'],
  usage: ['input_tokens', 'output_tokens'],
  error: ['code'],
};
const EXTRA_FIELDS: Readonly<Record<string, readonly string[]>> = {
  run_start: ['run_id'],
  run_end: ['run_id', 'result'],
  user_message: ['text', 'origin'],
  block_aborted: ['type', 'id'],
  tool_start: ['id', 'name'],
  tool_update: ['id', 'text'],
  approval_request: ['approval_id', 'tool', 'arguments', 'call_id'],
  approval_resolved: ['approval_id', 'status', 'comment'],
  queued: ['queue_id', 'lane', 'text'],
  unqueued: ['queue_ids'],
  retry: ['attempt'],
  retry_end: ['attempt', 'success'],
  compact_start: ['reason'],
  compact_end: ['reason'],
  settings: [],
  todos: [],
  branched: [],
  closed: [],
  shell_start: ['shell_id'],
  shell_update: ['shell_id'],
  shell_end: ['shell_id'],
  client_call: ['call_id'],
  client_cancel: ['call_id'],
  recovered: ['lost'],
  commanded: ['command'],
};
const PIECES: Readonly<Record<string, readonly [id: string, text: string]>> = {
  text_delta: ['', 'text'],
  thinking_delta: ['', 'text'],
  tool_call_args_delta: ['id', 'json'],
};

/** The content of a numbered line; undefined if it is not in the protocol. */
export function parsePodLine(line: JsonLine, kind: 'plain' | 'extended'): DoorLine | undefined {
  const name = stringOf(line.event);
  const data = objectOf(line.data);
  const seq = Number(line.seq);
  const piece = PIECES[name];
  if (piece !== undefined) {
    const [id, text] = piece;
    return deltaLine(seq, `${name} ${id === '' ? '' : stringOf(data[id])}`.trim(), stringOf(data[text]));
  }
  const fields = FIELDS[name] ?? (kind === 'extended' ? EXTRA_FIELDS[name] : undefined);
  if (fields === undefined) return undefined;
  return doorLine(
    seq,
    name,
    Object.fromEntries(fields.flatMap((key) => (key in data ? [[key, data[key]]] : []))),
  );
}

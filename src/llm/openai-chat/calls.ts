import {
  arrayOf,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  stringOf,
  tryParse,
} from '../../base/index.ts';
import { type Answer, appendToBlock, findBlock, openBlock, replaceBlock, type StepEvent } from '../answer.ts';

/**
 * The tool calls received so far. They arrive in fragments, and servers identify the call of a fragment differently: by
 * index, by id, by its position in the list, or not at all.
 */
export interface Calls {
  /** In order of appearance. */
  readonly keys: readonly string[];
  readonly byKey: Readonly<Record<string, PendingCall>>;
}

interface PendingCall {
  readonly id: string;
  readonly name: string;
  /** The arguments so far. Buffered until the call has a name, and used to detect the start of a new call. */
  readonly json: string;
  /** Data that the server requires back with the call. */
  readonly extra: unknown;
}

export const NO_CALLS: Calls = { keys: [], byKey: {} };

interface State extends Answer {
  readonly calls: Calls;
}

/** Reads a list of fragments; some servers send a single fragment without a list. */
export function readCalls<S extends State>(state: S, at: number, fragments: unknown, out: StepEvent[]): S {
  const list = isObject(fragments) ? [fragments] : arrayOf(fragments);
  let next = state;
  for (const [position, fragment] of list.entries()) {
    next = readFragment(next, at, objectOf(fragment), list.length > 1 ? position : undefined, out);
  }
  return next;
}

function readFragment<S extends State>(
  state: S,
  at: number,
  fragment: JsonObject,
  position: number | undefined,
  out: StepEvent[],
): S {
  const functionCall = objectOf(fragment.function ?? fragment.custom);
  const id = stringOf(fragment.id);
  const name = stringOf(functionCall.name);
  const json = parseCallArguments(functionCall);
  const key = callKey(state, at, fragment.index, id, position);
  const next = separateNewCall(state, key, { id, name, json });
  const before = next.calls.byKey[key];
  // Once the id and the name are known, the arguments need not be buffered.
  if (before?.name && before.id && fragment.extra_content === undefined)
    return emitCall(next, key, before, json, out);
  const call: PendingCall = {
    id: before?.id || id,
    name: before?.name || name,
    json: (before?.json ?? '') + json,
    extra: fragment.extra_content ?? before?.extra,
  };
  return emitCall(storeCall(next, key, call), key, call, before?.name ? json : call.json, out);
}

/** Opens the block as soon as the call has a name, and emits the arguments buffered before. */
function emitCall<S extends State>(
  state: S,
  key: string,
  call: PendingCall,
  json: string,
  out: StepEvent[],
): S {
  if (call.name === '') return state;
  const head = { blockType: 'tool-use', id: call.id, name: call.name } as const;
  const next = findBlock(state, key) === undefined ? openBlock(state, out, key, head) : state;
  return json === '' ? next : appendToBlock(next, out, key, { type: 'input-json', json }, head);
}

function storeCall<S extends State>(state: S, key: string, call: PendingCall): S {
  const { keys, byKey } = state.calls;
  const known = keys.includes(key) ? keys : [...keys, key];
  return { ...state, calls: { keys: known, byKey: { ...byKey, [key]: call } } };
}

function parseCallArguments(functionCall: JsonObject): string {
  const value = functionCall.arguments ?? functionCall.input;
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function callKey(state: State, at: number, index: unknown, id: string, position: number | undefined): string {
  const number = numberOf(index);
  if (number !== undefined) return `${at}/call/${number}`;
  if (id !== '') return `${at}/call/${id}`;
  const { keys } = state.calls;
  // A fragment without index and id belongs to the call at its position, or else to the last one.
  return (position === undefined ? keys.at(-1) : keys[position]) ?? `${at}/call/#${position ?? 0}`;
}

/**
 * Some servers send index 0 for all parallel calls. A new id with a name starts a new call, and so does a name without an
 * id once the arguments so far are complete. The old call is then moved to another key.
 */
function separateNewCall<S extends State>(
  state: S,
  key: string,
  { id, name, json }: Pick<PendingCall, 'id' | 'name' | 'json'>,
): S {
  const before = state.calls.byKey[key];
  if (before === undefined || name === '' || before.name === '') return state;
  // Some servers repeat the name in every fragment, so the arguments are parsed only where a new call could start.
  const isNew =
    id === ''
      ? json.startsWith('{') && isComplete(before.json)
      : id !== before.id && !state.callIds.includes(id);
  if (!isNew) return state;
  const block = findBlock(state, key);
  const movedKey = `${key}/${state.calls.keys.length}`;
  const { [key]: _, ...others } = state.calls.byKey;
  const keys = state.calls.keys.map((known) => (known === key ? movedKey : known));
  const moved = { ...state, calls: { keys, byKey: { ...others, [movedKey]: before } } };
  return block === undefined ? moved : replaceBlock(moved, { ...block, key: movedKey });
}

function isComplete(json: string): boolean {
  return isObject(tryParse(json));
}

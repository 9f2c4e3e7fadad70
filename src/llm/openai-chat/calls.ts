import {
  arrayOf,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  stringOf,
  tryParse,
} from '../../base/index.ts';
import { type Answer, fillBlock, findBlock, openBlock, replaceBlock, type StepEvent } from '../answer.ts';

/**
 * Tool calls come in fragments, and servers disagree on how a fragment names its call: by index, by id, by its place in
 * the list, or not at all. What is known of them while they grow:
 */
export interface Calls {
  /** In order of appearance. */
  readonly keys: readonly string[];
  readonly byKey: Readonly<Record<string, Growing>>;
}

interface Growing {
  readonly id: string;
  readonly name: string;
  /** The arguments so far: a call without a name waits, and a new one is told from the old one by them. */
  readonly json: string;
  /** What the server wants back with the call. */
  readonly extra: unknown;
}

export const NO_CALLS: Calls = { keys: [], byKey: {} };

interface State extends Answer {
  readonly calls: Calls;
}

/** A list of fragments; some servers send one without the list. */
export function readCalls<S extends State>(state: S, at: number, fragments: unknown, out: StepEvent[]): S {
  const list = isObject(fragments) ? [fragments] : arrayOf(fragments);
  let next = state;
  for (const [place, fragment] of list.entries()) {
    next = readFragment(next, at, objectOf(fragment), list.length > 1 ? place : undefined, out);
  }
  return next;
}

function readFragment<S extends State>(
  state: S,
  at: number,
  fragment: JsonObject,
  place: number | undefined,
  out: StepEvent[],
): S {
  const spoken = objectOf(fragment.function ?? fragment.custom);
  const id = stringOf(fragment.id);
  const name = stringOf(spoken.name);
  const json = argumentsIn(spoken);
  const key = keyOf(state, at, fragment.index, id, place);
  const next = makeRoom(state, key, { id, name, json });
  const before = next.calls.byKey[key];
  // With an id and a name all is known of a call; its arguments need not be remembered.
  if (before?.name && before.id && fragment.extra_content === undefined)
    return tell(next, key, before, json, out);
  const call: Growing = {
    id: before?.id || id,
    name: before?.name || name,
    json: (before?.json ?? '') + json,
    extra: fragment.extra_content ?? before?.extra,
  };
  return tell(remember(next, key, call), key, call, before?.name ? json : call.json, out);
}

/** Opens the block as soon as the call has a name; what came before the name goes out with it. */
function tell<S extends State>(state: S, key: string, call: Growing, json: string, out: StepEvent[]): S {
  if (call.name === '') return state;
  const head = { blockType: 'tool-use', id: call.id, name: call.name } as const;
  const next = findBlock(state, key) === undefined ? openBlock(state, out, key, head) : state;
  return json === '' ? next : fillBlock(next, out, key, { type: 'input-json', json }, head);
}

function remember<S extends State>(state: S, key: string, call: Growing): S {
  const { keys, byKey } = state.calls;
  const known = keys.includes(key) ? keys : [...keys, key];
  return { ...state, calls: { keys: known, byKey: { ...byKey, [key]: call } } };
}

function argumentsIn(spoken: JsonObject): string {
  const value = spoken.arguments ?? spoken.input;
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function keyOf(state: State, at: number, index: unknown, id: string, place: number | undefined): string {
  const number = numberOf(index);
  if (number !== undefined) return `${at}/call/${number}`;
  if (id !== '') return `${at}/call/${id}`;
  const { keys } = state.calls;
  // Without a name of its own a fragment belongs to the call at its place, or else to the last one.
  return (place === undefined ? keys.at(-1) : keys[place]) ?? `${at}/call/#${place ?? 0}`;
}

/**
 * Some servers number all parallel calls 0. A new id with a name is a new call, and so is a name without an id once the
 * arguments so far are whole; the old call keeps what it has.
 */
function makeRoom<S extends State>(
  state: S,
  key: string,
  { id, name, json }: Pick<Growing, 'id' | 'name' | 'json'>,
): S {
  const before = state.calls.byKey[key];
  if (before === undefined || name === '' || before.name === '') return state;
  // Some repeat the name with every fragment: arguments are only looked at where new ones could begin.
  const isNew =
    id === ''
      ? json.startsWith('{') && isWhole(before.json)
      : id !== before.id && !state.callIds.includes(id);
  if (!isNew) return state;
  const block = findBlock(state, key);
  const aside = `${key}/${state.calls.keys.length}`;
  const { [key]: _, ...others } = state.calls.byKey;
  const keys = state.calls.keys.map((known) => (known === key ? aside : known));
  const moved = { ...state, calls: { keys, byKey: { ...others, [aside]: before } } };
  return block === undefined ? moved : replaceBlock(moved, { ...block, key: aside });
}

function isWhole(json: string): boolean {
  return isObject(tryParse(json));
}

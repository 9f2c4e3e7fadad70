import { arrayOf, isObject, type JsonObject, numberOf, objectOf } from '../../base/index.ts';

/** What this door keeps of a session that it launched: what the wire gives back and the pod has no word for. */
export interface Notes {
  /** The prompt, as far as lists show it. */
  readonly query: string;
  readonly permissionPromptTool?: string;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  /** What the conversation had cost before this session went on with it. */
  readonly before?: Spent;
  /** Why the session could not be launched. */
  readonly error?: string;
}

export interface Spent {
  readonly cost: number;
  readonly turns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
}

/** The notes beside those of others. */
export function annotated(others: JsonObject | undefined, notes: Notes): JsonObject {
  return { ...others, [KEY]: { ...notes, query: cut(notes.query) } };
}

export function notesIn(annotations: JsonObject | undefined): Notes | undefined {
  const notes = annotations?.[KEY];
  if (!isObject(notes)) return undefined;
  const before = isObject(notes.before) ? spentIn(notes.before) : undefined;
  return {
    query: typeof notes.query === 'string' ? notes.query : '',
    ...texts(notes, ['permissionPromptTool', 'error']),
    ...lists(notes, ['allowedTools', 'disallowedTools']),
    ...(before && { before }),
  };
}

const KEY = 'hld';

/** Notes stand in every list, so they are kept short. The conversation has the whole prompt. */
const LONGEST_QUERY = 2_000;

function cut(query: string): string {
  return query.length <= LONGEST_QUERY ? query : [...query].slice(0, LONGEST_QUERY - 1).join('').concat('…');
}

function spentIn(value: JsonObject): Spent {
  const count = (key: keyof Spent): number => numberOf(objectOf(value)[key]) ?? 0;
  return {
    cost: count('cost'),
    turns: count('turns'),
    inputTokens: count('inputTokens'),
    outputTokens: count('outputTokens'),
    cacheReadInputTokens: count('cacheReadInputTokens'),
    cacheCreationInputTokens: count('cacheCreationInputTokens'),
  };
}

function texts<K extends string>(from: JsonObject, keys: readonly K[]): { readonly [P in K]?: string } {
  const found = keys.flatMap((key) => (typeof from[key] === 'string' ? [[key, from[key]] as const] : []));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- computed keys lose their names
  return Object.fromEntries(found) as { readonly [P in K]?: string };
}

function lists<K extends string>(from: JsonObject, keys: readonly K[]): { readonly [P in K]?: readonly string[] } {
  const found = keys.flatMap((key) =>
    Array.isArray(from[key])
      ? [[key, arrayOf(from[key]).filter((part) => typeof part === 'string')] as const]
      : [],
  );
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- computed keys lose their names
  return Object.fromEntries(found) as { readonly [P in K]?: readonly string[] };
}

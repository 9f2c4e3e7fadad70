import { beginningOf, isObject, type JsonObject, numberOf, stringOf } from '../../../base/index.ts';

/** What this door keeps of a session that it launched: what the wire gives back and the pod has no word for. */
export interface Notes {
  /** The prompt, or its beginning. */
  readonly query: string;
  /** Whether it is only the beginning. */
  readonly isCut?: boolean;
  /** A mark of the launch, by which the process knows one of its own that is under way. */
  readonly launch: string;
  /** The run that it was launched with: its MCP servers know the session by it. */
  readonly run: string;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  /** What the conversation had cost before this session went on with it. */
  readonly before?: Spent;
  /** Whether the log tells what happens in the session. */
  readonly verbose?: boolean;
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
  const { query } = notes;
  const beginning = beginningOf(query, LONGEST_QUERY);
  return { ...others, [KEY]: { ...notes, query: beginning, isCut: beginning !== query } };
}

export function notesIn(annotations: JsonObject | undefined): Notes | undefined {
  const notes = annotations?.[KEY];
  if (!isObject(notes)) return undefined;
  const { allowedTools, disallowedTools, before, verbose, error } = notes;
  return {
    query: stringOf(notes.query),
    isCut: notes.isCut === true,
    launch: stringOf(notes.launch),
    run: stringOf(notes.run),
    ...(Array.isArray(allowedTools) && { allowedTools: allowedTools.map(stringOf) }),
    ...(Array.isArray(disallowedTools) && { disallowedTools: disallowedTools.map(stringOf) }),
    ...(isObject(before) && { before: spentIn(before) }),
    ...(verbose === true && { verbose }),
    ...(typeof error === 'string' && { error }),
  };
}

/** Asked of every event: the rest of the notes is not read for it. */
export function isVerbose(annotations: JsonObject | undefined): boolean {
  const notes = annotations?.[KEY];
  return isObject(notes) && notes.verbose === true;
}

const KEY = 'hld';

/** Notes stand in every row, so they are kept short. The session file has the whole prompt. */
const LONGEST_QUERY = 2_000;

function spentIn(value: JsonObject): Spent {
  const count = (key: keyof Spent): number => numberOf(value[key]) ?? 0;
  return {
    cost: count('cost'),
    turns: count('turns'),
    inputTokens: count('inputTokens'),
    outputTokens: count('outputTokens'),
    cacheReadInputTokens: count('cacheReadInputTokens'),
    cacheCreationInputTokens: count('cacheCreationInputTokens'),
  };
}

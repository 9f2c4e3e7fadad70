import { truncateText, isObject, type JsonObject, numberOf, stringOf } from '../../../base/index.ts';

/** The annotations of a session that this door launched: values that the protocol returns and that the pod does not store. */
export interface Notes {
  /** The prompt, truncated if it is long. */
  readonly query: string;
  /** Whether the prompt was truncated. */
  readonly isCut?: boolean;
  /** Identifies the launch, so that a process recognises its own launches that are in progress. */
  readonly launch: string;
  /** The run of the launch. The session's MCP servers use it to identify the session. */
  readonly run: string;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  /** The usage of the conversation before this session continued it. */
  readonly before?: SpentNote;
  /** Whether the session's events are logged. */
  readonly verbose?: boolean;
  /** Why the session could not be launched. */
  readonly error?: string;
}

export interface SpentNote {
  readonly cost: number;
  readonly turns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
}

/** Adds the notes to the annotations of other clients. */
export function annotated(others: JsonObject | undefined, notes: Notes): JsonObject {
  const { query } = notes;
  const beginning = truncateText(query, LONGEST_QUERY);
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

/** Called for every event: does not parse the other notes. */
export function isVerbose(annotations: JsonObject | undefined): boolean {
  const notes = annotations?.[KEY];
  return isObject(notes) && notes.verbose === true;
}

const KEY = 'hld';

/** Notes are part of every index row, so they are kept short. The session file contains the complete prompt. */
const LONGEST_QUERY = 2_000;

function spentIn(value: JsonObject): SpentNote {
  const count = (key: keyof SpentNote): number => numberOf(value[key]) ?? 0;
  return {
    cost: count('cost'),
    turns: count('turns'),
    inputTokens: count('inputTokens'),
    outputTokens: count('outputTokens'),
    cacheReadInputTokens: count('cacheReadInputTokens'),
    cacheCreationInputTokens: count('cacheCreationInputTokens'),
  };
}

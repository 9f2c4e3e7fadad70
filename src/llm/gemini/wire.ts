import {
  arrayOf,
  frameIn,
  isObject,
  type JsonObject,
  MESSAGE_DEPTH,
  numberOf,
  objectOf,
  stringOf,
} from '../../base/index.ts';
import { usageFrom } from '../answer.ts';
import type { StopReason, Usage } from '../event.ts';

/** One chunk of a streamed generateContent answer. */
export interface Frame {
  readonly candidates?: unknown;
  readonly promptFeedback?: unknown;
  readonly usageMetadata?: unknown;
  readonly modelVersion?: unknown;
  readonly responseId?: unknown;
  readonly error?: unknown;
}

export function decode(payload: string): Frame | undefined {
  return frameIn(payload);
}

export const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  STOP: 'end-turn',
  MAX_TOKENS: 'max-tokens',
  SAFETY: 'content-filter',
  RECITATION: 'content-filter',
  BLOCKLIST: 'content-filter',
  PROHIBITED_CONTENT: 'content-filter',
  SPII: 'content-filter',
  IMAGE_SAFETY: 'content-filter',
  IMAGE_PROHIBITED_CONTENT: 'content-filter',
  IMAGE_RECITATION: 'content-filter',
  MODEL_ARMOR: 'content-filter',
  MALFORMED_FUNCTION_CALL: 'malformed-call',
  UNEXPECTED_TOOL_CALL: 'malformed-call',
};

/** The provider's counters as last heard: a chunk may repeat some and leave out others. */
export interface Counters {
  readonly prompt?: number | undefined;
  readonly toolUse?: number | undefined;
  readonly candidates?: number | undefined;
  readonly thoughts?: number | undefined;
  readonly cached?: number | undefined;
  readonly total?: number | undefined;
}

/** A newer count wins; an older one is kept only as far as it still fits. */
export function mergeCounters(known: Counters, wire: JsonObject): Counters {
  const counters = {
    prompt: numberOf(wire.promptTokenCount) ?? known.prompt,
    toolUse: numberOf(wire.toolUsePromptTokenCount) ?? known.toolUse,
    candidates: numberOf(wire.candidatesTokenCount) ?? known.candidates,
    thoughts: numberOf(wire.thoughtsTokenCount) ?? known.thoughts,
    cached: numberOf(wire.cachedContentTokenCount) ?? known.cached,
    total: numberOf(wire.totalTokenCount) ?? known.total,
  };
  const { prompt, total } = counters;
  if (prompt === undefined || total === undefined || sumOf(counters) === total) return counters;
  // Other counts came without a total: the total is the older number.
  if (numberOf(wire.totalTokenCount) === undefined) return { ...counters, total: sumOf(counters) };
  return withinTotal(counters, wire, total - prompt);
}

/**
 * A newer total, with a count missing beside it: what is known of that count is stale. It becomes what the total leaves for
 * it, which is 0 for a count that is left out because there is nothing to count.
 */
function withinTotal(counters: Counters, wire: JsonObject, beyondPrompt: number): Counters {
  const { toolUse = 0, candidates, thoughts } = counters;
  const rest = beyondPrompt - toolUse;
  const areThoughtsStale = thoughts !== undefined && numberOf(wire.thoughtsTokenCount) === undefined;
  if (candidates === undefined || numberOf(wire.candidatesTokenCount) !== undefined)
    return areThoughtsStale ? { ...counters, thoughts: Math.max(0, rest - (candidates ?? 0)) } : counters;
  const thought = areThoughtsStale ? Math.max(0, Math.min(thoughts, rest)) : thoughts;
  return { ...counters, thoughts: thought, candidates: Math.max(0, rest - (thought ?? 0)) };
}

function sumOf({ prompt = 0, toolUse = 0, candidates = 0, thoughts = 0 }: Counters): number {
  return prompt + toolUse + candidates + thoughts;
}

/** Thoughts are counted beside the candidates, and what tools fed into the prompt beside the prompt. */
export function usageOf({ prompt, toolUse, candidates, thoughts, cached, total }: Counters): Usage {
  const answered = candidates !== undefined || thoughts !== undefined;
  return usageFrom({
    inputTokens: prompt === undefined ? undefined : prompt + (toolUse ?? 0),
    outputTokens: answered ? (candidates ?? 0) + (thoughts ?? 0) : undefined,
    totalTokens: total,
    cacheReadInputTokens: cached,
    cacheCreationInputTokens: undefined,
    reasoningTokens: thoughts,
  });
}

/** A piece of streamed arguments: a value, or a further piece of a string, at a JSON path. */
export interface PartialArg {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

export function partialArgsOf(call: JsonObject): readonly PartialArg[] {
  return arrayOf(call.partialArgs).map((entry) => {
    const arg = objectOf(entry);
    return { path: parsePath(stringOf(arg.jsonPath)), value: valueOf(arg) };
  });
}

function valueOf(arg: JsonObject): unknown {
  if ('stringValue' in arg) return stringOf(arg.stringValue);
  if ('numberValue' in arg) return arg.numberValue;
  if ('boolValue' in arg) return arg.boolValue;
  return null;
}

/** `$.recipe.ingredients[0].name` and `$['odd key'][1]`. */
export function parsePath(path: string): readonly (string | number)[] {
  const steps: (string | number)[] = [];
  for (const [, quoted, bare, index] of path.matchAll(
    /\[['"]((?:[^'"\\]|\\.)*)['"]\]|\.?([^.[\]$]+)|\[(\d+)\]/g,
  )) {
    if (index !== undefined) steps.push(Number(index));
    else steps.push(quoted ?? bare ?? '');
  }
  return steps;
}

/** Puts the pieces together: a string at a path that already has one goes on with it. */
export function assembleArgs(pieces: readonly PartialArg[]): JsonObject {
  const root: Container = {};
  // Without these limits a few bytes could ask for very many nulls in front of an index, or for lists in lists without end.
  let gaps = MOST_GAPS;
  for (const { path, value } of pieces) {
    if (path.length > MESSAGE_DEPTH || gaps < 0) continue;
    gaps -= gapBefore(root, path);
    if (gaps >= 0) put(root, path, value);
  }
  return root;
}

const MOST_GAPS = 1_000_000;

/** How many items that nobody has sent lie before those of the path. */
function gapBefore(root: Container, path: readonly (string | number)[]): number {
  let gap = 0;
  let place: unknown = root;
  for (const key of path) {
    const { length } = arrayOf(place);
    if (typeof key === 'number') gap += Math.max(0, key - length);
    place = isContainer(place) && Object.hasOwn(place, key) ? place[key] : undefined;
  }
  return gap;
}

type Container = Record<string, unknown>;

function put(root: Container, path: readonly (string | number)[], value: unknown): void {
  const last = path.at(-1);
  // An index out of all proportion would make a list of that many nulls.
  if (last === undefined || path.some((key) => typeof key === 'number' && key > MAX_INDEX)) return;
  let place: Container = root;
  for (const [at, key] of path.slice(0, -1).entries()) place = childOf(place, key, path[at + 1]);
  const before = Object.hasOwn(place, last) ? place[last] : undefined;
  set(place, last, typeof before === 'string' && typeof value === 'string' ? before + value : value);
}

const MAX_INDEX = 100_000;

function childOf(parent: Container, key: string | number, nextKey: string | number | undefined): Container {
  const child = Object.hasOwn(parent, key) ? parent[key] : undefined;
  if (isContainer(child)) return child;
  const made: unknown = typeof nextKey === 'number' ? [] : {};
  set(parent, key, made);
  return isContainer(made) ? made : {};
}

/** Defined, not assigned: a path through `__proto__` must stay inside the arguments. */
function set(place: Container, key: string | number, value: unknown): void {
  Object.defineProperty(place, key, { value, writable: true, enumerable: true, configurable: true });
}

function isContainer(value: unknown): value is Container {
  return isObject(value) || Array.isArray(value);
}

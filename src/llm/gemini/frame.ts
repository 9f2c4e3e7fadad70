import {
  arrayOf,
  parseFrame,
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
  return parseFrame(payload);
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

/** The provider's latest counters; a chunk may repeat some and omit others. */
export interface Counters {
  readonly prompt?: number | undefined;
  readonly toolUse?: number | undefined;
  readonly candidates?: number | undefined;
  readonly thoughts?: number | undefined;
  readonly cached?: number | undefined;
  readonly total?: number | undefined;
}

/** Newer counts win; older ones are adjusted if they contradict the newer total. */
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
  if (prompt === undefined || total === undefined || counterSum(counters) === total) return counters;
  // The chunk has counts but no total, so the known total is stale.
  if (numberOf(wire.totalTokenCount) === undefined) return { ...counters, total: counterSum(counters) };
  return adjustToTotal(counters, wire, total - prompt);
}

/**
 * Handles a newer total without one of the counts: the known value of that count is stale. It is replaced with the rest
 * of the total, which is 0 if the provider omitted the count because there was nothing to count.
 */
function adjustToTotal(counters: Counters, wire: JsonObject, afterPrompt: number): Counters {
  const { toolUse = 0, candidates, thoughts } = counters;
  const rest = afterPrompt - toolUse;
  const areThoughtsStale = thoughts !== undefined && numberOf(wire.thoughtsTokenCount) === undefined;
  if (candidates === undefined || numberOf(wire.candidatesTokenCount) !== undefined)
    return areThoughtsStale ? { ...counters, thoughts: Math.max(0, rest - (candidates ?? 0)) } : counters;
  const adjustedThoughts = areThoughtsStale ? Math.max(0, Math.min(thoughts, rest)) : thoughts;
  return { ...counters, thoughts: adjustedThoughts, candidates: Math.max(0, rest - (adjustedThoughts ?? 0)) };
}

function counterSum({ prompt = 0, toolUse = 0, candidates = 0, thoughts = 0 }: Counters): number {
  return prompt + toolUse + candidates + thoughts;
}

/** Gemini counts thinking separately from the candidates, and tool results separately from the prompt. */
export function usageOf({ prompt, toolUse, candidates, thoughts, cached, total }: Counters): Usage {
  const hasOutput = candidates !== undefined || thoughts !== undefined;
  return usageFrom({
    inputTokens: prompt === undefined ? undefined : prompt + (toolUse ?? 0),
    outputTokens: hasOutput ? (candidates ?? 0) + (thoughts ?? 0) : undefined,
    totalTokens: total,
    cacheReadInputTokens: cached,
    cacheCreationInputTokens: undefined,
    reasoningTokens: thoughts,
  });
}

/** A piece of streamed arguments: a value, or the next part of a string, at a JSON path. */
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

/** Assembles the arguments. A string at a path that already has a string is appended to it. */
export function assembleArgs(pieces: readonly PartialArg[]): JsonObject {
  const root: Container = {};
  // Without these limits, a few bytes could cause very long arrays of nulls or unbounded nesting.
  let gaps = MAX_GAPS;
  for (const { path, value } of pieces) {
    if (path.length > MESSAGE_DEPTH || gaps < 0) continue;
    gaps -= gapBefore(root, path);
    if (gaps >= 0) setAtPath(root, path, value);
  }
  return root;
}

const MAX_GAPS = 1_000_000;

/** The number of array items that would have to be filled with nulls to write at the path. */
function gapBefore(root: Container, path: readonly (string | number)[]): number {
  let gap = 0;
  let container: unknown = root;
  for (const key of path) {
    const { length } = arrayOf(container);
    if (typeof key === 'number') gap += Math.max(0, key - length);
    container = isContainer(container) && Object.hasOwn(container, key) ? container[key] : undefined;
  }
  return gap;
}

type Container = Record<string, unknown>;

function setAtPath(root: Container, path: readonly (string | number)[], value: unknown): void {
  const last = path.at(-1);
  // A huge index would create an array of that many nulls.
  if (last === undefined || path.some((key) => typeof key === 'number' && key > MAX_INDEX)) return;
  let container: Container = root;
  for (const [at, key] of path.slice(0, -1).entries()) container = childOf(container, key, path[at + 1]);
  const before = Object.hasOwn(container, last) ? container[last] : undefined;
  setProperty(
    container,
    last,
    typeof before === 'string' && typeof value === 'string' ? before + value : value,
  );
}

const MAX_INDEX = 100_000;

function childOf(parent: Container, key: string | number, nextKey: string | number | undefined): Container {
  const child = Object.hasOwn(parent, key) ? parent[key] : undefined;
  if (isContainer(child)) return child;
  const created: unknown = typeof nextKey === 'number' ? [] : {};
  setProperty(parent, key, created);
  return isContainer(created) ? created : {};
}

/** Uses defineProperty, so that a path through `__proto__` does not change a prototype. */
function setProperty(container: Container, key: string | number, value: unknown): void {
  Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
}

function isContainer(value: unknown): value is Container {
  return isObject(value) || Array.isArray(value);
}

import { isObject, type JsonObject, PolypodError, type shape } from '../../../base/index.ts';
import type { PodSettings, SettingsChange } from '../../../pod/index.ts';

/** Settings whose keys are not ours: notes of clients, and MCP servers as their documents spell them. */
const FOREIGN: ReadonlySet<string> = new Set(['annotations', 'mcpConfig', 'mcpContext']);

/** Settings, or a change of them, in the wire's spelling. */
export function wireSettings(settings: PodSettings | SettingsChange): JsonObject {
  return renamed({ ...settings }, wireName);
}

/** A change of settings, or what holds for one run, in our spelling; not checked, the pod does that. `path` names it in a refusal. */
export function ourSettings(settings: JsonObject, path: string): JsonObject {
  refuseOurNames(settings, path);
  return renamed(settings, ourName);
}

/** The names of settings in our spelling. */
export function ourNames(names: readonly string[], path: string): readonly string[] {
  for (const [index, name] of names.entries()) refuseOurName(name, `${path}.${index}`, 'setting');
  return names.map(ourName);
}

/** What is wrong with a command, in the wire's spelling. */
export function wireProblem(problem: shape.Problem): shape.Problem {
  const { path, at, text } = problem;
  // Words of a value are the client's own; only `clear` has names of settings for values.
  const isNames = at === 'key' || path[0] === 'clear';
  return {
    at,
    path: path.map((key) => (typeof key === 'string' ? wireName(key) : key)),
    text: isNames ? text.replaceAll(/\b[a-z]+(?:[A-Z][a-z]*)+\b/g, wireName) : text,
  };
}

function wireName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function ourName(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function renamed(object: JsonObject, rename: (name: string) => string): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [
      rename(key),
      // Lists are rules and tools, whose keys are words of their own.
      isObject(value) && !FOREIGN.has(ourName(key)) ? renamed(value, rename) : value,
    ]),
  );
}

/** Accepts one spelling only, so that a client reads back the names that it set. */
function refuseOurNames(object: JsonObject, path: string): void {
  for (const [key, value] of Object.entries(object)) {
    refuseOurName(key, `${path}.${key}`, 'key');
    if (isObject(value) && !FOREIGN.has(ourName(key))) refuseOurNames(value, `${path}.${key}`);
  }
}

function refuseOurName(name: string, path: string, what: 'key' | 'setting'): void {
  if (name.length > LONGEST_NAME || wireName(name) === name) return;
  throw new PolypodError('bad-request', `${path} is not a ${what}: did you mean "${wireName(name)}"?`);
}

/** No name of ours is longer. */
const LONGEST_NAME = 100;

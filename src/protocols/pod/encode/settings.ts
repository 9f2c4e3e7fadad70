import { isObject, type JsonObject, PolypodError, type shape } from '../../../base/index.ts';
import type { PodSettings } from '../../../pod/index.ts';

/** Settings whose keys are defined by others: annotations of clients, and MCP server configurations. */
const FOREIGN: ReadonlySet<string> = new Set(['annotations', 'mcpConfig', 'mcpContext', 'editorServers']);

/** Settings with the key names of the protocol. */
export function wireSettings(settings: PodSettings): JsonObject {
  return renamed({ ...settings }, wireName);
}

/** Converts a settings change or run overrides to our key names. Does not validate values: the pod does. `path` is used in errors. */
export function decodeSettings(settings: JsonObject, path: string): JsonObject {
  refuseOurNames(settings, path);
  return renamed(settings, ourName);
}

/** Converts names of settings to ours. */
export function decodeSettingNames(names: readonly string[], path: string): readonly string[] {
  for (const [index, name] of names.entries()) refuseOurName(name, `${path}.${index}`, 'setting');
  return names.map(ourName);
}

/** Converts the names in a validation problem to those of the protocol. */
export function wireProblem(problem: shape.Problem): shape.Problem {
  const { path, at, text } = problem;
  // Values are the client's own text, except in `clear`, whose values are names of settings.
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
      // Lists contain rules and tools, whose keys are the same in both.
      isObject(value) && !FOREIGN.has(ourName(key)) ? renamed(value, rename) : value,
    ]),
  );
}

/** Accepts only the names of the protocol, so that a client reads back the names that it set. */
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

/** Longer than every name of a setting. */
const LONGEST_NAME = 100;

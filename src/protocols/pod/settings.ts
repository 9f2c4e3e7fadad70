import { isObject, type JsonObject } from '../../base/index.ts';
import type { PodSettings } from '../../pod/index.ts';

/** Where our spelling and the wire's differ, in settings and in what holds for one run. */
const NAMES: readonly (readonly [ours: string, wire: string])[] = [
  ['acceptEdits', 'accept_edits'],
  ['skipPermissionsUntil', 'skip_permissions_until'],
  ['skipPermissionsForMs', 'skip_permissions_for_ms'],
  ['clientTools', 'client_tools'],
  ['toolLimit', 'tool_limit'],
  ['contextFiles', 'context_files'],
  ['autoCompaction', 'auto_compaction'],
  ['autoRetry', 'auto_retry'],
  ['appendSystem', 'append_system'],
  ['maxTurns', 'max_turns'],
  ['modelId', 'model_id'],
  ['followUps', 'follow_ups'],
];
const TO_WIRE = new Map(NAMES);
const TO_OURS = new Map(NAMES.map(([ours, wire]) => [wire, ours]));

/** Settings in the wire's spelling. */
export function wireSettings(settings: PodSettings): JsonObject {
  return renamed({ ...settings }, TO_WIRE);
}

/** A change of settings, or what holds for one run, in our spelling; not checked, the pod does that. */
export function ourSettings(settings: JsonObject): JsonObject {
  return renamed(settings, TO_OURS);
}

export function ourName(name: string): string {
  return TO_OURS.get(name) ?? name;
}

function renamed(object: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [
      names.get(key) ?? key,
      // Lists are rules and tools, whose keys are words of their own.
      isObject(value) ? renamed(value, names) : value,
    ]),
  );
}

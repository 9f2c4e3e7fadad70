import { isObject, REDACTED } from '../../base/index.ts';

/** A path at which two JSON values differ; a side is undefined if it has no value there. */
export interface Difference {
  /** For example `body.messages[0].content`. */
  readonly path: string;
  readonly recorded: unknown;
  readonly requested: unknown;
}

/**
 * Yields where a value differs from the recorded one, in recorded order, ignoring key order. Redacted recorded
 * values match anything.
 */
export function* differences(recorded: unknown, requested: unknown, path = ''): Generator<Difference> {
  if (isObject(recorded) && isObject(requested)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(requested)]))
      yield* differences(
        ownValue(recorded, key),
        ownValue(requested, key),
        path === '' ? key : `${path}.${key}`,
      );
  } else if (Array.isArray(recorded) && Array.isArray(requested)) {
    for (let index = 0; index < Math.max(recorded.length, requested.length); index += 1)
      yield* differences(recorded[index], requested[index], `${path}[${index}]`);
  } else if (!isEqual(recorded, requested)) {
    yield { path, recorded, requested };
  }
}

function ownValue(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function isEqual(recorded: unknown, requested: unknown): boolean {
  if (typeof recorded === 'string' && typeof requested === 'string')
    return matchesRedacted(recorded, requested);
  return recorded === requested;
}

function matchesRedacted(recorded: string, requested: string): boolean {
  if (recorded === requested) return true;
  const parts = recorded.split(REDACTED);
  const last = parts.pop() ?? '';
  const first = parts.shift();
  if (first === undefined || !requested.startsWith(first)) return false;
  let from = first.length;
  for (const part of parts) {
    const found = requested.indexOf(part, from);
    if (found < 0) return false;
    from = found + part.length;
  }
  return requested.endsWith(last) && requested.length - last.length >= from;
}

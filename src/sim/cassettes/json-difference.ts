import { isObject, REDACTED } from '../../base/index.ts';

/** A place where two JSON values part; a side is undefined where it has nothing there. */
export interface Difference {
  /** For example `body.messages[0].content`. */
  readonly path: string;
  readonly recorded: unknown;
  readonly asked: unknown;
}

/**
 * Where a value differs from the recorded one, in the recorded order; the order of keys does not count. What was
 * redacted in the recording may have been anything.
 */
export function* differences(recorded: unknown, asked: unknown, path = ''): Generator<Difference> {
  if (isObject(recorded) && isObject(asked)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(asked)]))
      yield* differences(own(recorded, key), own(asked, key), path === '' ? key : `${path}.${key}`);
  } else if (Array.isArray(recorded) && Array.isArray(asked)) {
    for (let index = 0; index < Math.max(recorded.length, asked.length); index += 1)
      yield* differences(recorded[index], asked[index], `${path}[${index}]`);
  } else if (!same(recorded, asked)) {
    yield { path, recorded, asked };
  }
}

function own(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function same(recorded: unknown, asked: unknown): boolean {
  if (typeof recorded === 'string' && typeof asked === 'string') return fits(recorded, asked);
  return recorded === asked;
}

function fits(recorded: string, asked: string): boolean {
  if (recorded === asked) return true;
  const parts = recorded.split(REDACTED);
  const last = parts.pop() ?? '';
  const first = parts.shift();
  if (first === undefined || !asked.startsWith(first)) return false;
  let from = first.length;
  for (const part of parts) {
    const found = asked.indexOf(part, from);
    if (found < 0) return false;
    from = found + part.length;
  }
  return asked.endsWith(last) && asked.length - last.length >= from;
}

import { ellipsize, isObject, PolypodError, type Redact, redactor } from '../../base/index.ts';
import { type Cassette, recordedBody } from './cassette.ts';
import type { Recording } from './cassette-folder.ts';
import { urlWithoutCredentials, findSecrets } from './cassette-secrets.ts';
import { type Difference, differences } from './json-difference.ts';

/** A request to look up. */
interface ReplayRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Finds the recording for a request: same method, path, query and body. Host, headers, key order and redacted
 * values are ignored. If several match, they are returned in recording order, so an error and the retry after
 * it replay as recorded; after that the last one repeats, so a program can be run twice.
 */
export class CassetteMatcher {
  readonly #recordings: readonly IndexedRecording[];
  readonly #used = new Set<IndexedRecording>();

  constructor(recordings: readonly Recording[]) {
    this.#recordings = recordings.map(({ file, cassette }) => ({
      file,
      cassette,
      key: recordedRequestKey(cassette),
    }));
  }

  /** Returns the next matching cassette. Throws `not-found`, naming the closest recording, if none matches. */
  take(request: ReplayRequest): Cassette {
    const key = requestKey(
      request.method,
      request.url,
      request.body === undefined ? undefined : recordedBody(request.body),
    );
    const matching = this.#matching(key);
    const recording = matching.find((one) => !this.#used.has(one)) ?? matching.at(-1);
    if (recording === undefined) throw noMatch(key, this.#recordings, redactor(findSecrets(request)));
    this.#used.add(recording);
    return recording.cassette;
  }

  /**
   * A client may use a base URL that replaces `https://host/api/v1`, so its path may be only the end of the
   * recorded one.
   */
  #matching(key: RequestKey): readonly IndexedRecording[] {
    const exact = this.#recordings.filter((recording) => isEqualKey(recording.key, key));
    if (exact.length > 0) return exact;
    return this.#recordings.filter(
      (recording) =>
        recording.key.path.endsWith(key.path) && isEqualKey({ ...recording.key, path: key.path }, key),
    );
  }
}

interface IndexedRecording {
  readonly file: string;
  readonly cassette: Cassette;
  readonly key: RequestKey;
}

/** The part of a request that identifies it. */
interface RequestKey {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly body?: unknown;
}

function recordedRequestKey({ request }: Cassette): RequestKey {
  return requestKey(request.method, request.url, request.body);
}

function requestKey(method: string, url: string, body: unknown): RequestKey {
  const [path = '', query] = urlWithoutCredentials(url)
    .replace(ORIGIN, '')
    .split(/\?(.*)/s);
  const parameters = new URLSearchParams(query ?? '');
  return {
    method,
    path,
    query: Object.fromEntries([...parameters.keys()].map((name) => [name, parameters.getAll(name)])),
    ...(body === undefined ? {} : { body }),
  };
}

/** Matched by hand: redaction can produce a host that no URL parser accepts. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

function isEqualKey(recorded: RequestKey, request: RequestKey): boolean {
  return differences(recorded, request).next().done === true;
}

function noMatch(request: RequestKey, recordings: readonly IndexedRecording[], clean: Redact): PolypodError {
  const closest = closestRecording(request, recordings);
  const model =
    isObject(request.body) && typeof request.body['model'] === 'string' ? ` (${request.body['model']})` : '';
  const what = `no recording of ${request.method} ${request.path}${model} matches`;
  const why =
    closest === undefined
      ? ''
      : `: the closest is ${closest.file}, which differs in ${describeDifference(closest.difference)}`;
  return new PolypodError(
    'not-found',
    clean(`${what}${why}; record this exchange again, or send the request as recorded`),
  );
}

function closestRecording(
  request: RequestKey,
  recordings: readonly IndexedRecording[],
): { readonly file: string; readonly difference: Difference } | undefined {
  let best: { readonly file: string; readonly difference: Difference; readonly distance: number } | undefined;
  for (const { file, key } of recordings) {
    const [difference, ...others] = [...differences(key, request)];
    if (difference === undefined) continue;
    // A different method or path outweighs any difference in text, unless nothing else differs.
    const otherEndpoint = others.length > 0 && /^(?:method|path)$/.test(difference.path);
    const distance = others.length + (otherEndpoint ? 1e9 : 0);
    if (best === undefined || distance < best.distance) best = { file, difference, distance };
  }
  return best;
}

function describeDifference({ path, recorded, requested: request }: Difference): string {
  const from =
    typeof recorded === 'string' && typeof request === 'string' ? divergenceIndex(recorded, request) : 0;
  return `${path}: recorded ${excerpt(recorded, from)}, requested ${excerpt(request, from)}`;
}

/** Returns the index where two texts diverge, minus a few characters of context. */
function divergenceIndex(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at < EXCERPT / 2 ? 0 : at - EXCERPT / 4;
}

function excerpt(value: unknown, from: number): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'string' ? value.slice(from) : JSON.stringify(value);
  const short = ellipsize(text, EXCERPT);
  return typeof value === 'string' ? JSON.stringify(from > 0 ? `…${short}` : short) : short;
}

const EXCERPT = 60;

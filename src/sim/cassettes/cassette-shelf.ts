import { isObject, PolypodError, type Redact, redactor } from '../../base/index.ts';
import { type Cassette, recordedBody } from './cassette.ts';
import type { Recording } from './cassette-folder.ts';
import { bareUrl, secretsIn } from './cassette-secrets.ts';
import { type Difference, differences } from './json-difference.ts';

/** A request that looks for its recording. */
interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Finds the recording for a request: same method, path, query and body. Hosts and headers do not count, nor do the order
 * of keys and what was redacted. Several that match are handed out in the order of recording, so that a refusal and
 * the retry after it come back as they were; then the last one again and again, so that a program can be run twice.
 */
export class Shelf {
  readonly #volumes: readonly Volume[];
  readonly #taken = new Set<Volume>();

  constructor(recordings: readonly Recording[]) {
    this.#volumes = recordings.map(({ file, cassette }) => ({
      file,
      cassette,
      question: questionIn(cassette),
    }));
  }

  /** Throws `not-found`, with what comes nearest, when nothing like it was recorded. */
  take(asked: Asked): Cassette {
    const question = questionOf(
      asked.method,
      asked.url,
      asked.body === undefined ? undefined : recordedBody(asked.body),
    );
    const matching = this.#matching(question);
    const volume = matching.find((one) => !this.#taken.has(one)) ?? matching.at(-1);
    if (volume === undefined) throw noMatch(question, this.#volumes, redactor(secretsIn(asked)));
    this.#taken.add(volume);
    return volume.cassette;
  }

  /** A client may be pointed at a server that stands for `https://host/api/v1`, and then asks for less of the path. */
  #matching(question: Question): readonly Volume[] {
    const exact = this.#volumes.filter((volume) => isSame(volume.question, question));
    if (exact.length > 0) return exact;
    return this.#volumes.filter(
      (volume) =>
        volume.question.path.endsWith(question.path) &&
        isSame({ ...volume.question, path: question.path }, question),
    );
  }
}

interface Volume {
  readonly file: string;
  readonly cassette: Cassette;
  readonly question: Question;
}

/** The part of a request that tells it from others. */
interface Question {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly body?: unknown;
}

function questionIn({ request }: Cassette): Question {
  return questionOf(request.method, request.url, request.body);
}

function questionOf(method: string, url: string, body: unknown): Question {
  const [path = '', query] = bareUrl(url)
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

/** Taken off by hand: redaction may have made a host that no parser takes. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

function isSame(recorded: Question, asked: Question): boolean {
  return differences(recorded, asked).next().done === true;
}

function noMatch(asked: Question, volumes: readonly Volume[], clean: Redact): PolypodError {
  const nearest = nearestTo(asked, volumes);
  const model =
    isObject(asked.body) && typeof asked.body['model'] === 'string' ? ` (${asked.body['model']})` : '';
  const what = `no recording of ${asked.method} ${asked.path}${model} matches`;
  const why =
    nearest === undefined
      ? ''
      : `: the nearest is ${nearest.file}, which differs in ${tell(nearest.difference)}`;
  return new PolypodError(
    'not-found',
    clean(`${what}${why}; record this exchange again, or ask as recorded`),
  );
}

function nearestTo(
  asked: Question,
  volumes: readonly Volume[],
): { readonly file: string; readonly difference: Difference } | undefined {
  let best: { readonly file: string; readonly difference: Difference; readonly distance: number } | undefined;
  for (const { file, question } of volumes) {
    const [difference, ...others] = [...differences(question, asked)];
    if (difference === undefined) continue;
    // Another address is further away than any other text, unless nothing else differs.
    const elsewhere = others.length > 0 && /^(?:method|path)$/.test(difference.path);
    const distance = others.length + (elsewhere ? 1e9 : 0);
    if (best === undefined || distance < best.distance) best = { file, difference, distance };
  }
  return best;
}

function tell({ path, recorded, asked }: Difference): string {
  const from = typeof recorded === 'string' && typeof asked === 'string' ? partingOf(recorded, asked) : 0;
  return `${path}: recorded ${excerpt(recorded, from)}, asked ${excerpt(asked, from)}`;
}

/** Where two texts part, with a little before it to find the place by. */
function partingOf(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at < EXCERPT / 2 ? 0 : at - EXCERPT / 4;
}

function excerpt(value: unknown, from: number): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'string' ? value.slice(from) : JSON.stringify(value);
  const short = text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
  return typeof value === 'string' ? JSON.stringify(from > 0 ? `…${short}` : short) : short;
}

const EXCERPT = 60;

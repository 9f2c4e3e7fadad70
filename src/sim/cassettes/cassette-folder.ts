import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { messageOf, objectOf, PolypodError, stringOf, systemCodeOf } from '../../base/index.ts';
import { type Cassette, encodeCassette, type RecordedRequest } from './cassette.ts';
import { parseCassette } from './cassette-reader.ts';

/** A file number in a recordings folder, reserved for one recording. */
export interface RecordingSlot {
  /** Writes the cassette atomically: readers see the complete file or none. */
  write(cassette: Cassette, label: string | undefined): Promise<void>;
}

/**
 * Reserves the next free number in a folder and creates the folder (0700) if it is missing. A hidden file holds
 * the number, so recordings of this process and of others never share one. A crash leaves the hidden file
 * behind, which only skips a number.
 */
export async function claimSlot(directory: string): Promise<RecordingSlot> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    for (let number = 1 + Math.max(0, ...(await numbersIn(directory))); ; number += 1) {
      const partial = join(directory, `.${padded(number)}.partial`);
      if (!(await createExclusively(partial))) continue;
      // Another process may have written this number between the directory listing and the claim.
      if ((await numbersIn(directory)).filter((taken) => taken === number).length === 1)
        return slot(directory, number, partial);
      await rm(partial);
    }
  } catch (thrown) {
    throw notWritable(directory, thrown);
  }
}

/** A cassette and its file name. */
export interface Recording {
  readonly file: string;
  readonly cassette: Cassette;
}

/** Which recordings to read: a whole folder in recording order, or the given files in the given order. */
export type Recordings = { readonly directory: string } | { readonly files: readonly string[] };

/** Reads all recordings. Throws `not-found` if there are none and `bad-request` for an invalid one. */
export async function readRecordings(from: Recordings): Promise<readonly Recording[]> {
  const files = 'files' in from ? from.files : await filesIn(from.directory);
  if (files.length === 0) {
    const source = 'files' in from ? 'the list of files' : from.directory;
    throw new PolypodError('not-found', `no recordings in ${source}: record an exchange first`);
  }
  return await Promise.all(
    files.map(async (file) => ({
      file: basename(file),
      cassette: parseCassette(await readRecordingFile(file), file),
    })),
  );
}

/**
 * Returns a name such as `0001-anthropic-v1-messages-claude-x.json`: it sorts by time and shows provider, path
 * and model.
 */
function fileName(number: number, request: RecordedRequest, label: string | undefined): string {
  const { host, path } = urlParts(request.url);
  const model = stringOf(objectOf(request.body)['model']);
  const words = [label ?? vendorFromHost(host), path, model].map(slug).filter((word) => word !== '');
  return `${[padded(number), ...words].join('-').slice(0, MAX_NAME).replace(/-+$/, '')}.json`;
}

function slot(directory: string, number: number, partial: string): RecordingSlot {
  return {
    async write(cassette, label) {
      try {
        await writeFile(partial, encodeCassette(cassette));
        await rename(partial, join(directory, fileName(number, cassette.request, label)));
      } catch (thrown) {
        throw notWritable(directory, thrown);
      }
    },
  };
}

/** Returns false if the file already exists. */
async function createExclusively(file: string): Promise<boolean> {
  try {
    await (await open(file, 'wx', 0o600)).close();
    return true;
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'EEXIST') return false;
    throw thrown;
  }
}

async function numbersIn(directory: string): Promise<number[]> {
  return (await readdir(directory)).flatMap((name) => {
    const digits = (NAME.exec(name) ?? CLAIM.exec(name))?.[1];
    return digits === undefined ? [] : [Number(digits)];
  });
}

async function filesIn(directory: string): Promise<string[]> {
  let names: string[];
  try {
    names = await readdir(directory);
  } catch (thrown) {
    const message = `cannot read recordings in ${directory}: ${messageOf(thrown)}; pass the folder that holds the recordings`;
    throw new PolypodError('not-found', message, { cause: thrown });
  }
  return names
    .filter((name) => name.endsWith('.json') && !name.startsWith('.'))
    .toSorted((a, b) => recordingNumber(a) - recordingNumber(b) || (a < b ? -1 : 1))
    .map((name) => join(directory, name));
}

/** Sorts by number, which can outgrow its padding. Renamed files without a number come last. */
function recordingNumber(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? Number.MAX_SAFE_INTEGER);
}

async function readRecordingFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    const message = `cannot read the recording ${file}: ${messageOf(thrown)}; pass a file that was recorded`;
    throw new PolypodError('not-found', message, { cause: thrown });
  }
}

const NAME = /^(\d{4,}).*\.json$/;
const CLAIM = /^\.(\d{4,})\.partial$/;
const MAX_NAME = 120;

function padded(number: number): string {
  return String(number).padStart(4, '0');
}

function urlParts(url: string): { host: string; path: string } {
  const [, host = '', path = ''] = /^[a-z]+:\/\/([^/?#]*)([^?#]*)/i.exec(url) ?? [];
  return { host: host.replace(/:\d+$/, ''), path };
}

/** Turns `api.anthropic.com` into `anthropic`; IP addresses and single-word hosts are returned unchanged. */
function vendorFromHost(host: string): string {
  return /^[\d.]+$|^\[/.test(host) ? host : (host.split('.').at(-2) ?? host);
}

function slug(word: string): string {
  return word
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
}

function notWritable(directory: string, thrown: unknown): PolypodError {
  const message = `cannot record into ${directory}: ${messageOf(thrown)}; choose a folder you can write to`;
  return new PolypodError('bad-request', message, { cause: thrown });
}

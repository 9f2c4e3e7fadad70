import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { messageOf, objectOf, PolypodError, stringOf, systemCodeOf } from '../../base/index.ts';
import { type Cassette, encodeCassette, type RecordedRequest } from './cassette.ts';
import { parseCassette } from './cassette-reader.ts';

/** A number of a folder that one recording has for itself. */
export interface Slot {
  /** The cassette becomes visible whole or not at all. */
  write(cassette: Cassette, label: string | undefined): Promise<void>;
}

/**
 * Takes the next free number of a folder, which is made (0700) if it is not there. The number is held by a hidden file,
 * so that recordings of this and of other processes never get the same one; what a crash leaves of it costs a number.
 */
export async function claimSlot(directory: string): Promise<Slot> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    for (let number = 1 + Math.max(0, ...(await numbersIn(directory))); ; number += 1) {
      const partial = join(directory, `.${padded(number)}.partial`);
      if (!(await created(partial))) continue;
      // Whoever held the number may have filled it between our look at the folder and our claim.
      if ((await numbersIn(directory)).filter((taken) => taken === number).length === 1)
        return slot(directory, number, partial);
      await rm(partial);
    }
  } catch (thrown) {
    throw notWritable(directory, thrown);
  }
}

/** A cassette and the file it is from. */
export interface Recording {
  readonly file: string;
  readonly cassette: Cassette;
}

/** Where recordings are: all of a folder, in the order they were made, or just these files in this order. */
export type Recordings = { readonly directory: string } | { readonly files: readonly string[] };

/** Reads them all; throws `not-found` where there is none and `bad-request` for one that cannot be read. */
export async function readRecordings(from: Recordings): Promise<readonly Recording[]> {
  const files = 'files' in from ? from.files : await filesIn(from.directory);
  if (files.length === 0) {
    const where = 'files' in from ? 'the list of files' : from.directory;
    throw new PolypodError('not-found', `no recordings in ${where}: record an exchange first`);
  }
  return await Promise.all(
    files.map(async (file) => ({ file: basename(file), cassette: parseCassette(await textOf(file), file) })),
  );
}

/** `0001-anthropic-v1-messages-claude-x.json`: sorts by time and tells who was asked for what. */
function fileName(number: number, request: RecordedRequest, label: string | undefined): string {
  const { host, path } = partsOf(request.url);
  const model = stringOf(objectOf(request.body)['model']);
  const words = [label ?? ownerOf(host), path, model].map(plain).filter((word) => word !== '');
  return `${[padded(number), ...words].join('-').slice(0, MAX_NAME).replace(/-+$/, '')}.json`;
}

function slot(directory: string, number: number, partial: string): Slot {
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

/** False when the file is there already. */
async function created(file: string): Promise<boolean> {
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
    const why = `cannot read recordings in ${directory}: ${messageOf(thrown)}; name the folder you recorded into`;
    throw new PolypodError('not-found', why, { cause: thrown });
  }
  return names
    .filter((name) => name.endsWith('.json') && !name.startsWith('.'))
    .toSorted((a, b) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1))
    .map((name) => join(directory, name));
}

/** By number, which has more digits some day than its padding; what somebody renamed comes after all numbers. */
function placeOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? Number.MAX_SAFE_INTEGER);
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    const why = `cannot read the recording ${file}: ${messageOf(thrown)}; name a file you recorded`;
    throw new PolypodError('not-found', why, { cause: thrown });
  }
}

const NAME = /^(\d{4,}).*\.json$/;
const CLAIM = /^\.(\d{4,})\.partial$/;
const MAX_NAME = 120;

function padded(number: number): string {
  return String(number).padStart(4, '0');
}

function partsOf(url: string): { host: string; path: string } {
  const [, host = '', path = ''] = /^[a-z]+:\/\/([^/?#]*)([^?#]*)/i.exec(url) ?? [];
  return { host: host.replace(/:\d+$/, ''), path };
}

/** `api.anthropic.com` is anthropic; a number or a single word stays what it is. */
function ownerOf(host: string): string {
  return /^[\d.]+$|^\[/.test(host) ? host : (host.split('.').at(-2) ?? host);
}

function plain(word: string): string {
  return word
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
}

function notWritable(directory: string, thrown: unknown): PolypodError {
  const why = `cannot record into ${directory}: ${messageOf(thrown)}; choose a folder you can write to`;
  return new PolypodError('bad-request', why, { cause: thrown });
}

import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  constants as flags,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import module, { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { constants, Script } from 'node:vm';
import { arrayOf, objectOf, parseObject, stringOf } from '../base/index.ts';

/** How long after its start a process writes the code that it has compiled: what it needs to be usable is loaded then. */
const WRITE_AFTER_MS = 1_000;

/**
 * Loads the files of the bundle with the code that V8 compiled in an earlier process, and writes it for the next one. It only
 * saves time: without a directory that is safe, and with code of another version of Node.js or Polypod, files are compiled as usual.
 * @param directory Belongs to this user; is created if it is missing.
 * @param command The processes that run the same command share a file.
 */
export function cacheCode(directory: string, command: string): void {
  const folder = dirname(import.meta.filename);
  const cache = new CodeCache(folder, join(directory, `${command}-${process.version}-${process.arch}`));
  const { extensions } = createRequire(import.meta.url);
  const load = extensions['.js'];
  // oxlint-disable-next-line typescript/no-deprecated -- the only way to pass cached code to `require` on Node.js 20
  extensions['.js'] = (loaded, path) => {
    if (dirname(path) === folder) cache.load(loaded, path);
    else load(loaded, path);
  };
}

/** The code of one file, with its checksum: V8 does not detect damaged code. */
interface CachedCode {
  readonly code: Buffer;
  readonly sum: string;
}

class CodeCache {
  readonly #folder: string;
  readonly #file: string;
  readonly #earlier: ReadonlyMap<string, CachedCode>;
  readonly #scripts = new Map<string, Script>();
  #isWaiting = false;

  constructor(folder: string, file: string) {
    this.#folder = folder;
    this.#file = file;
    this.#earlier = readCode(file);
  }

  load(loaded: NodeModule, path: string): void {
    const name = basename(path);
    const earlier = this.#earlier.get(name);
    const cachedData =
      earlier !== undefined && sumOf(earlier.code) === earlier.sum ? earlier.code : undefined;
    const script = new Script(module.wrap(readFileSync(path, 'utf8')), {
      filename: path,
      cachedData,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    this.#scripts.set(name, script);
    if (cachedData === undefined) this.#writeLater();
    const run: unknown = script.runInThisContext();
    if (typeof run !== 'function') throw new TypeError(`${path} is not a module`);
    Reflect.apply(run, loaded.exports, [
      loaded.exports,
      (id: string): unknown => loaded.require(id),
      loaded,
      path,
      dirname(path),
    ]);
  }

  #writeLater(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const write = (): void => {
      clearTimeout(timer);
      process.off('exit', write);
      this.#write();
    };
    const timer = setTimeout(write, WRITE_AFTER_MS).unref();
    process.on('exit', write);
  }

  #write(): void {
    const codes = new Map<string, Buffer>(
      [...this.#scripts].map(([name, script]) => [name, script.createCachedData()]),
    );
    // What other processes of this command need, unless it is of another version.
    for (const [name, { code }] of this.#earlier)
      if (!codes.has(name) && existsSync(join(this.#folder, name))) codes.set(name, code);
    const files = [...codes].map(([name, code]) => ({ name, bytes: code.length, sum: sumOf(code) }));
    const draft = `${this.#file}.${randomUUID()}`;
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      if (!isPrivate(lstatSync(dirname(this.#file)))) return;
      const header = Buffer.from(`${JSON.stringify({ files })}\n`);
      writeFileSync(draft, Buffer.concat([header, ...codes.values()]), { mode: 0o600, flag: 'wx' });
      renameSync(draft, this.#file);
    } catch {
      // The disk is full or read-only: the next process compiles again.
    }
  }
}

/** Returns nothing if the file is missing, damaged, or not safe from other users. */
function readCode(file: string): ReadonlyMap<string, CachedCode> {
  try {
    if (!isPrivate(lstatSync(dirname(file)))) return NOTHING;
    const bytes = readPrivate(file);
    const end = bytes.indexOf('\n');
    let at = end + 1;
    const { files } = objectOf(parseObject(bytes.toString('utf8', 0, end)));
    return new Map(
      arrayOf(files).map((each) => {
        const { name, bytes: length, sum } = objectOf(each);
        const code = bytes.subarray(at, (at += Number(length)));
        return [stringOf(name), { code, sum: stringOf(sum) }];
      }),
    );
  } catch {
    return NOTHING;
  }
}

const NOTHING: ReadonlyMap<string, CachedCode> = new Map();

function readPrivate(file: string): Buffer {
  const descriptor = openSync(file, flags.O_RDONLY | flags.O_NOFOLLOW);
  try {
    return isPrivate(fstatSync(descriptor)) ? readFileSync(descriptor) : Buffer.alloc(0);
  } finally {
    closeSync(descriptor);
  }
}

/** Code of another user, or that another user can change, is not run. */
function isPrivate({ uid, mode }: Stats): boolean {
  return uid === process.getuid?.() && (mode & 0o077) === 0;
}

function sumOf(code: Uint8Array): string {
  return createHash('sha256').update(code).digest('hex');
}

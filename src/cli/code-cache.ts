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
import { Script } from 'node:vm';
import { arrayOf, objectOf, parseObject, stringOf } from '../base/index.ts';

/** How long a process waits before it writes the code that it has compiled: it must not delay the first answers. */
const WRITE_AFTER_MS = 1_000;

/**
 * Loads modules with the code that V8 compiled in an earlier process, and writes it for the next one. It only saves time: if the directory
 * is not safe, and for other versions of Node.js or Polypod, modules are compiled as usual.
 * @param directory Is created if it is missing.
 * @param command On Node.js 20, the processes that run the same command share a file.
 */
export function cacheCode(directory: string, command: string): void {
  if (!makePrivate(directory)) return;
  // Node.js 22 has a cache of its own; its types are those of Node.js 20 here.
  const enable: unknown = Reflect.get(module, 'enableCompileCache');
  if (typeof enable === 'function') Reflect.apply(enable, module, [directory]);
  else cacheBundle(directory, command);
}

/** Passes cached code to `require` for the files of the bundle. */
function cacheBundle(directory: string, command: string): void {
  const folder = dirname(import.meta.filename);
  const cache = new CodeCache(folder, join(directory, `${command}-${process.version}-${process.arch}`));
  const { extensions } = createRequire(import.meta.url);
  const load = extensions['.js'];
  // oxlint-disable-next-line typescript/no-deprecated -- the only way to pass cached code to `require` on Node.js 20
  extensions['.js'] = (loaded, path) => {
    // Cached code cannot import modules of users: scripts/cli-bundle.mjs.
    if (dirname(path) === folder && basename(path) !== 'import.js') cache.load(loaded, path);
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
      // Modules that are loaded later are written later.
      this.#isWaiting = false;
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

/** Creates a directory that only this user can access, or checks that it is one. */
function makePrivate(directory: string): boolean {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return isPrivate(lstatSync(directory));
  } catch {
    return false;
  }
}

/** Code of another user, or that another user can change, is not run. */
function isPrivate({ uid, mode }: Stats): boolean {
  return uid === process.getuid?.() && (mode & 0o077) === 0;
}

function sumOf(code: Uint8Array): string {
  return createHash('sha256').update(code).digest('hex');
}

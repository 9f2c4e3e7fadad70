import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import { isInside } from '../scope.ts';
import type { RealPath } from '../real-path.ts';

/** The file that a shell runs for a name. */
export interface Program {
  /** As found on PATH. */
  readonly path: string;
  /** The file itself, without links. */
  readonly real: string;
  /**
   * - `system`: installed where only an administrator or a package manager writes.
   * - `binary`: a compiled program elsewhere.
   * - `shim`: a script of a version manager, which selects the program by files of the working directory.
   * - `script`: any other script, which may do anything.
   */
  readonly kind: 'system' | 'binary' | 'shim' | 'script';
  /** Why it may have been replaced. */
  readonly doubt?: string;
}

/** Looks up a name like a shell, but never in a relative entry, which is another directory after each `cd`. */
export async function findProgram(
  name: string,
  searchPath: string,
  realPath: RealPath,
): Promise<Program | undefined> {
  for (const directory of searchPath.split(':').filter(isAbsolute)) {
    const path = join(directory, name);
    if (!(await isExecutable(path))) continue;
    const location = await realPath(path);
    if ('problem' in location) return { path, real: path, kind: 'script', doubt: location.problem };
    const kind = await programKind(name, path, location.real);
    const isOpen = kind !== 'system' && (await isWorldWritable(directory));
    return {
      path,
      real: location.real,
      kind,
      ...(isOpen ? { doubt: `every user may write to ${directory}` } : {}),
    };
  }
  return undefined;
}

const SYSTEM = [
  '/usr/bin',
  '/usr/sbin',
  '/usr/lib',
  '/usr/libexec',
  '/usr/share',
  '/usr/games',
  '/bin',
  '/sbin',
  '/usr/local/bin',
  '/usr/local/sbin',
  '/usr/local/lib',
  '/usr/local/Cellar',
  '/opt/homebrew',
  '/home/linuxbrew/.linuxbrew',
  '/nix/store',
  '/Library/Developer/CommandLineTools',
  '/Applications/Xcode.app',
];

async function programKind(name: string, path: string, real: string): Promise<Program['kind']> {
  // A version manager may be installed system-wide.
  if (/\/(?:shims|\.?asdf|\.?mise|\.?volta|\.?rustup|\.?pyenv)\//i.test(`${path}\n${real}`)) return 'shim';
  if (/^(?:rustup|volta|volta-shim|mise|asdf|proto-shim)$/.test(basename(real))) return 'shim';
  if (SYSTEM.some((directory) => isInside(directory, real))) return 'system';
  // npm comes with node, wherever that is installed.
  if (/\/lib\/node_modules\/npm\/bin\/np[mx]-cli\.js$/.test(real)) return 'binary';
  return basename(real).startsWith(name) && (await isCompiled(real)) ? 'binary' : 'script';
}

/** ELF and Mach-O. */
const MAGIC = ['7f454c46', 'feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe'];

async function isCompiled(path: string): Promise<boolean> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
      return MAGIC.includes(buffer.toString('hex'));
    } finally {
      await file.close();
    }
  } catch {
    return false;
  }
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

async function isWorldWritable(directory: string): Promise<boolean> {
  try {
    return ((await stat(directory)).mode & 0o002) !== 0;
  } catch {
    return true;
  }
}

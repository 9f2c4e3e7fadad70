import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PolypodError } from '../../../base/index.ts';
import { existingDirectory } from '../../../setup/index.ts';
import { isInside } from '../../../tools/index.ts';

/** The directories whose sessions an MCP host may use. */
export class AllowedDirectories {
  readonly #roots: readonly string[];

  private constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  /**
   * The current directory and the named ones. Many hosts start their servers in the root or home directory: it is not a project,
   * and would allow all sessions, so it must be named.
   */
  static async open(current: string, home: string, named: readonly string[]): Promise<AllowedDirectories> {
    const [here, ...others] = await Promise.all([current, home, '/'].map((path) => real(path)));
    const own = here === undefined || others.includes(here) ? [] : [here];
    const roots = await Promise.all(named.map(async (path) => realpath(await existingDirectory(path))));
    if (own.length === 0 && roots.length === 0)
      throw new PolypodError(
        'bad-request',
        `${current} is not a project directory: start the server in one, or name projects with --allow-dir DIR`,
      );
    return new AllowedDirectories([...own, ...roots]);
  }

  /** Whether a session works in one of the directories. */
  async allows(cwd: string): Promise<boolean> {
    const path = (await real(cwd)) ?? resolve(cwd);
    return this.#roots.some((root) => isInside(root, path));
  }

  /** The directory of a new session. Rejects if it does not exist or is not allowed. */
  async resolve(cwd: string | undefined): Promise<string> {
    const [first = '.'] = this.#roots;
    const path = await realpath(await existingDirectory(resolve(first, cwd ?? '.')));
    if (await this.allows(path)) return path;
    throw new PolypodError(
      'denied',
      `${path} is outside of the allowed directories (${this.#roots.join(', ')}): the user can start the server with --allow-dir ${path}`,
    );
  }
}

async function real(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}

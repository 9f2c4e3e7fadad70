import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';

/** Returns the absolute path of an installed program; undefined if there is none of that name. */
export async function programOnPath(
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  // A relative entry would find programs in the working directory.
  for (const directory of (env['PATH'] ?? '').split(':').filter(isAbsolute)) {
    const program = join(directory, name);
    if (await isExecutable(program)) return program;
  }
  return undefined;
}

async function isExecutable(program: string): Promise<boolean> {
  try {
    await access(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

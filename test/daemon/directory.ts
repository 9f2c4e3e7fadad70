import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';

const made: string[] = [];

afterEach(async () => {
  await Promise.all(made.splice(0).map((directory) => rm(directory, { recursive: true })));
});

/** A directory with these files, which is removed after the test. */
export async function directoryWith(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'polypod-'));
  made.push(directory);
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(directory, name), content);
    // Does not depend on the umask of the user who runs the tests.
    await chmod(join(directory, name), 0o600);
  }
  return directory;
}

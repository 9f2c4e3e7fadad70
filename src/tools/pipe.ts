import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, open } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PolypodError, systemCodeOf } from '../base/index.ts';

/** Both ends of a pipe, as descriptors: who takes one over closes it. */
export interface Pipe {
  readonly read: number;
  readonly write: number;
  /** The name that the system shows for whoever holds the pipe; there is no file of that name any more. */
  readonly name: string;
}

/**
 * A true pipe. What Node makes for a child's output is a socket, on which `echo > /dev/stderr` fails, and one for each of
 * stdout and stderr, so that their order is lost.
 */
export async function openPipe(directory: string): Promise<Pipe> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const name = join(directory, `pipe-${randomUUID()}`);
  await makeFifo(name);
  try {
    return { ...(await openEnds(name)), name };
  } finally {
    await rm(name, { force: true });
  }
}

async function openEnds(name: string): Promise<{ readonly read: number; readonly write: number }> {
  // Without waiting for a writer; the writer then finds a reader and does not wait either.
  const read = await promisify(open)(name, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { read, write: await promisify(open)(name, constants.O_WRONLY) };
  } catch (thrown) {
    closeSync(read);
    throw thrown;
  }
}

async function makeFifo(name: string): Promise<void> {
  try {
    await promisify(execFile)('mkfifo', ['-m', '600', name]);
  } catch (thrown) {
    if (systemCodeOf(thrown) !== 'ENOENT') throw thrown;
    const why = 'Commands cannot be run because the program mkfifo is missing: install coreutils.';
    throw new PolypodError('tool-failed', why, { cause: thrown });
  }
}

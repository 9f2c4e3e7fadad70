import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { explainStartFailure, objectOf, PolypodError } from '../../base/index.ts';

/** A named pipe for the output of a program. */
export interface OutputPipe {
  /** The program's stdout and stderr; the caller closes its copy after the start. */
  readonly write: FileHandle;
  /** The received output; it ends when all writers have ended. */
  readonly read: Readable;
  /** Part of the path that the system shows for holders of the pipe; the file itself is already removed. */
  readonly name: string;
  /** The process that forwards the bytes to us. */
  readonly relay: number;
  /** Ends the relay, even if the pipe still has holders. */
  readonly close: () => void;
}

/**
 * Node uses sockets for a child's output, one each for stdout and stderr: their order is lost, and `echo >
 * /dev/stderr` fails, because a socket cannot be opened. A named pipe has neither problem. Node cannot wait for
 * it without a thread, so `cat` does; it is not in our process group, where Ctrl-C would end it before the
 * program.
 */
export async function openOutputPipe(
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<OutputPipe> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const name = `pipe-${randomUUID()}`;
  // Not our own environment: the command can read that of processes next to it.
  const system = { PATH: `${env.PATH ?? ''}:/usr/local/bin:/usr/bin:/bin` };
  await makeFifo(join(directory, name), system);
  const { read, write } = await openEnds(join(directory, name));
  try {
    return { write, name, ...(await startRelay(read, system)) };
  } catch (thrown) {
    await write.close();
    throw thrown;
  } finally {
    await read.close();
  }
}

async function startRelay(
  from: FileHandle,
  env: Readonly<Record<string, string>>,
): Promise<Pick<OutputPipe, 'read' | 'relay' | 'close'>> {
  const relay = spawn('cat', [], { stdio: [from.fd, 'pipe', 'ignore'], detached: true, env });
  if (relay.pid !== undefined && relay.stdout !== null)
    return { read: relay.stdout, relay: relay.pid, close: () => void relay.kill('SIGKILL') };
  const [thrown] = await once(relay, 'error');
  throw startError('cat', env, thrown);
}

async function makeFifo(name: string, env: Readonly<Record<string, string>>): Promise<void> {
  try {
    await promisify(execFile)('mkfifo', ['-m', '600', name], { env });
  } catch (thrown) {
    // A program that ran has an exit code, and has written why it failed.
    throw typeof objectOf(thrown)['code'] === 'string' ? startError('mkfifo', env, thrown) : thrown;
  }
}

interface Ends {
  readonly read: FileHandle;
  readonly write: FileHandle;
}

/**
 * Opening one end waits for the other, so open both for read and write first. The name is not needed
 * afterwards.
 */
async function openEnds(name: string): Promise<Ends> {
  const both = await open(name, constants.O_RDWR);
  try {
    const read = await open(name, constants.O_RDONLY);
    return { read, write: await open(name, constants.O_WRONLY) };
  } finally {
    await both.close();
    await rm(name, { force: true });
  }
}

function startError(program: string, env: Readonly<Record<string, string>>, cause: unknown): PolypodError {
  const { problem, step } = explainStartFailure({ program, cwd: process.cwd(), env }, cause);
  const message = `Commands cannot be run: ${problem}. It is part of coreutils: ${step}.`;
  return new PolypodError('tool-failed', message, { cause });
}

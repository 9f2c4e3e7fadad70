import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { explainStartFailure, objectOf, PolypodError } from '../../base/index.ts';

/** A true pipe for the output of a program. */
export interface OutputPipe {
  /** What the program gets as stdout and as stderr; whoever starts it closes ours then. */
  readonly write: FileHandle;
  /** What comes out; it ends when all who could write are gone. */
  readonly read: Readable;
  /** Part of what the system shows for whoever holds the pipe; there is no file of that name any more. */
  readonly name: string;
  /** The process that carries the bytes to us. */
  readonly relay: number;
  /** Ends the relay, whoever still holds the pipe. */
  readonly close: () => void;
}

/**
 * What Node makes for a child's output are sockets, one for stdout and one for stderr: their order is lost, and
 * `echo > /dev/stderr` fails, for a socket cannot be opened. A named pipe has neither fault. Node cannot wait for it
 * without a thread, so that `cat` does; it is not in our process group, where Ctrl-C would end it before the program.
 */
export async function openOutputPipe(
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<OutputPipe> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const name = `pipe-${randomUUID()}`;
  // Not our own environment: what runs beside the command can be read by it.
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
  throw notStarted('cat', env, thrown);
}

async function makeFifo(name: string, env: Readonly<Record<string, string>>): Promise<void> {
  try {
    await promisify(execFile)('mkfifo', ['-m', '600', name], { env });
  } catch (thrown) {
    // One that ran has an exit code, and has written why it failed.
    throw typeof objectOf(thrown)['code'] === 'string' ? notStarted('mkfifo', env, thrown) : thrown;
  }
}

interface Ends {
  readonly read: FileHandle;
  readonly write: FileHandle;
}

/** Opening one end waits for the other; whoever has both open waits for nobody. Then the name is not needed any more. */
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

function notStarted(program: string, env: Readonly<Record<string, string>>, cause: unknown): PolypodError {
  const { problem, step } = explainStartFailure({ program, cwd: process.cwd(), env }, cause);
  const why = `Commands cannot be run: ${problem}. It is part of coreutils: ${step}.`;
  return new PolypodError('tool-failed', why, { cause });
}

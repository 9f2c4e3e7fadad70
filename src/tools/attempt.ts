import { asPolypodError, messageOf, systemCodeOf } from '../base/index.ts';
import { errorOutput, type ToolOutput } from './tool.ts';

/**
 * Runs what a call does to the world and makes an output of what the world refuses. `shown` is the name of the file or
 * program as the model wrote it. Only bugs are thrown.
 */
export async function attempt(
  shown: string,
  signal: AbortSignal,
  work: () => Promise<ToolOutput>,
): Promise<ToolOutput> {
  try {
    signal.throwIfAborted();
    return await work();
  } catch (thrown) {
    if (signal.aborted) return errorOutput('Cancelled before it was done.');
    const reason = refusalText(thrown, shown);
    if (reason === undefined) throw thrown;
    return errorOutput(reason);
  }
}

/** Why the world refused, with the next step; undefined for what is our own mistake. */
function refusalText(thrown: unknown, shown: string): string | undefined {
  const { code: reason, message } = asPolypodError(thrown);
  if (reason !== 'internal') return message;
  const code = systemCodeOf(thrown);
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return undefined;
  return REFUSALS[code]?.(shown) ?? `${shown}: ${messageOf(thrown)}`;
}

const REFUSALS: Readonly<Record<string, (shown: string) => string>> = {
  ENOENT: (shown) => `${shown} does not exist. Use ls or find to see what is there.`,
  ENOTDIR: (shown) => `A part of the path ${shown} is a file, not a directory. Use ls to see what is there.`,
  EISDIR: (shown) => `${shown} is a directory. Name a file in it; ls shows them.`,
  EACCES: (shown) =>
    `The file permissions do not allow this with ${shown}. Choose another file, or ask the user.`,
  EPERM: (shown) =>
    `The operating system does not allow this with ${shown}. Choose another file, or ask the user.`,
  EROFS: (shown) => `${shown} is on a read-only file system. Choose another place.`,
  ELOOP: (shown) =>
    `${shown} became a symbolic link while it was being opened. Look at it with ls and try again.`,
  ENAMETOOLONG: (shown) => `The name ${shown} is too long for the file system. Choose a shorter one.`,
  ENOSPC: () => 'The disk is full. Ask the user to make room.',
  EDQUOT: () => 'The disk quota is used up. Ask the user to make room.',
  EMFILE: () => 'Too many files are open. Try again in a moment.',
};

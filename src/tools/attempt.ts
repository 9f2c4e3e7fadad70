import { asPolypodError, messageOf, systemCodeOf } from '../base/index.ts';
import { errorOutput, type ToolOutput } from './tool.ts';

/**
 * Runs the work of a call and converts system errors to an output. `shown` is the file or program as the model
 * wrote it. Only bugs are thrown.
 */
export async function attempt(
  label: string,
  signal: AbortSignal,
  work: () => Promise<ToolOutput>,
): Promise<ToolOutput> {
  try {
    signal.throwIfAborted();
    return await work();
  } catch (thrown) {
    if (signal.aborted) return errorOutput('Cancelled before it was done.');
    const reason = systemErrorText(thrown, label);
    if (reason === undefined) throw thrown;
    return errorOutput(reason);
  }
}

/** Returns the reason with the next step, or undefined for an error of our own. */
function systemErrorText(thrown: unknown, label: string): string | undefined {
  const { code: reason, message } = asPolypodError(thrown);
  if (reason !== 'internal') return message;
  const code = systemCodeOf(thrown);
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return undefined;
  return SYSTEM_ERRORS[code]?.(label) ?? `${label}: ${messageOf(thrown)}`;
}

const SYSTEM_ERRORS: Readonly<Record<string, (label: string) => string>> = {
  ENOENT: (label) => `${label} does not exist. Use ls or find to see what is there.`,
  ENOTDIR: (label) => `A part of the path ${label} is a file, not a directory. Use ls to see what is there.`,
  EISDIR: (label) => `${label} is a directory. Name a file in it; ls shows them.`,
  EACCES: (label) =>
    `The file permissions do not allow this with ${label}. Choose another file, or ask the user.`,
  EPERM: (label) =>
    `The operating system does not allow this with ${label}. Choose another file, or ask the user.`,
  EROFS: (label) => `${label} is on a read-only file system. Choose another location.`,
  ELOOP: (label) =>
    `${label} became a symbolic link while it was being opened. Look at it with ls and try again.`,
  ENAMETOOLONG: (label) => `The name ${label} is too long for the file system. Choose a shorter one.`,
  ENOSPC: () => 'The disk is full. Ask the user to make room.',
  EDQUOT: () => 'The disk quota is used up. Ask the user to make room.',
  EMFILE: () => 'Too many files are open. Try again in a moment.',
};

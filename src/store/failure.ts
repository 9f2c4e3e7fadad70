import { basename } from 'node:path';
import { type ErrorCode, messageOf, PolypodError, systemCodeOf } from '../base/index.ts';

/** Error code, reason and next step for system errors that the user can fix. */
const KNOWN_ERRORS: Readonly<Record<string, readonly [ErrorCode, string, string]>> = {
  ENOSPC: ['overloaded', 'the disk is full', 'Free some space, then open it again.'],
  EDQUOT: ['overloaded', 'the disk quota is used up', 'Free some space, then open it again.'],
  EMFILE: [
    'overloaded',
    'too many files are open',
    'Close some sessions or raise `ulimit -n`, then open it again.',
  ],
  ENFILE: ['overloaded', 'too many files are open', 'Close some programs, then open it again.'],
  EROFS: ['denied', 'the file system is read-only', 'Make it writable, then open it again.'],
  EACCES: ['denied', 'permission is denied', 'Correct the permissions of the file and its directory.'],
  EPERM: ['denied', 'permission is denied', 'Correct the permissions of the file and its directory.'],
  ENOENT: ['not-found', 'it does not exist', 'Check the path.'],
  EISDIR: ['bad-request', 'it is a directory', 'Choose a file.'],
  ENOTDIR: ['bad-request', 'a part of its path is not a directory', 'Check the path.'],
  ELOOP: ['bad-request', 'its path has too many symbolic links', 'Check the path.'],
  ENAMETOOLONG: ['bad-request', 'its name is too long', 'Choose a shorter one.'],
  EIO: ['overloaded', 'the disk reported an input/output error', 'Check the disk, then open it again.'],
};

/** Converts a file system error to a PolypodError with the file, the reason and the next step. PolypodErrors are returned unchanged. */
export function fileFailure(path: string, action: string, thrown: unknown): PolypodError {
  if (thrown instanceof PolypodError) return thrown;
  const [code, reason, next] = KNOWN_ERRORS[systemCodeOf(thrown) ?? ''] ?? [
    'internal',
    messageOf(thrown),
    'Open it again.',
  ];
  return new PolypodError(code, `cannot ${action} ${basename(path)}: ${reason}. ${next}`, { cause: thrown });
}

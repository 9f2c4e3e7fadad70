/** Append-only logs and their locks; a log does not know what it logs. */
export { type AppendLog, type Durability, type LogOptions, openLog } from './append-log.ts';
export { crc32c } from './crc32c.ts';
export { fileFailure } from './failure.ts';
export { beginFeed, type Feed, type FeedOptions, openFeed } from './feed.ts';
export { type Files, type FileState, type OpenFile, realFiles } from './files.ts';
export { findLine, type KeyOf } from './find-line.ts';
export { sealRecords, type Verdict, verifyLine } from './line.ts';
export { LineIndex } from './line-index.ts';
export { acquireLock, type Lock, type LockOptions, type LockOwner, readLock } from './lock.ts';
export type { LogKind, Repair } from './log-file.ts';
export { memoryFiles } from './memory-files.ts';
export { type Piece, type Remedy, salvage } from './salvage.ts';
export { isUnfinished } from './unfinished.ts';
export {
  type ProcessIdentity,
  type ProcessState,
  stateOfProcess,
  processBirth,
  thisProcess,
} from './process-identity.ts';
export { type LogLine, type Range, readFirstLine, readLines, readTail } from './read-lines.ts';

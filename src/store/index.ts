/** Append-only logs and their locks. A log does not interpret its records. */
export { type AppendLog, type Durability, type LogOptions, openLog } from './append-log.ts';
export { crc32c } from './crc32c.ts';
export { fileFailure } from './failure.ts';
export { createFeedNow, type FeedFile, type FeedOptions, openFeed } from './feed.ts';
export { type Files, type FileState, type OpenFile, realFiles } from './files.ts';
export { findLine, type LineKey } from './find-line.ts';
export { sealRecords, type LineCheck, verifyLine } from './line.ts';
export { LineIndex } from './line-index.ts';
export { acquireLock, type Lock, type LockOptions, type LockOwner, readLock } from './lock.ts';
export { appendAll, discard, type LogKind, type Repair } from './log-file.ts';
export { memoryFiles } from './memory-files.ts';
export { type SalvagedPiece, type RecoveryMethod, salvage } from './salvage.ts';
export { isIncompleteRecord } from './incomplete-record.ts';
export {
  type ProcessIdentity,
  type ProcessState,
  processState,
  processInstanceId,
  thisProcess,
} from './process-identity.ts';
export { type LogLine, type Range, readFirstLine, readLines, readTail } from './read-lines.ts';

/** One session's numbered stream of events: written before told, each watcher with a bounded queue. */
export { EventBatch, type Numbered } from './batch.ts';
export { Feed } from './feed.ts';
export type { FeedRecord } from './record.ts';
export { openSegments, type Segments } from './segments.ts';

/** The numbered event stream of one session. Events are written before they are published; each watcher has a bounded queue. */
export { EventBatch, type Numbered } from './batch.ts';
export { Feed } from './feed.ts';
export type { FeedRecord } from './record.ts';
export { openSegments, type Segments } from './segments.ts';

/** One session's numbered stream of events: written before told, each watcher with a bounded queue. */
export { Batch, type Numbered } from './batch.ts';
export { Feed, type Journal } from './feed.ts';

/** A session as a tree of entries, in the JSON-lines format that pi and xcsh read. */
export { apiOf, callIdOf } from './block.ts';
export * from './conversation.ts';
export * from './entry.ts';
export * from './fact.ts';
export * from './facts.ts';
export * as field from './field.ts';
export * from './from-end.ts';
export * from './kept-messages.ts';
export * from './messages.ts';
export * from './parse.ts';
export * from './tree.ts';
export { upgradeLines } from './upgrade.ts';
export { spentOn } from './usage.ts';
export { isReadable, readable } from './version.ts';

import type { JsonObject } from '../../base/index.ts';
import type { AgentMessage } from './agent-message.ts';

/** The format version that is written. Older versions are read, newer ones rejected. */
export const FORMAT_VERSION = 3;

/** The first line of a session file. */
export interface Header {
  readonly id: string;
  readonly version: number;
  readonly timestamp: string;
  readonly cwd: string;
  readonly title?: string;
  readonly titleSource?: 'auto' | 'user';
  /** The file that this session was forked from. */
  readonly parentSession?: string;
  /** Keys of other programs. */
  readonly extras?: JsonObject;
}

/** The position of an entry in the tree. */
export interface EntryHeader {
  readonly id: string;
  readonly parentId: string | null;
  /** ISO 8601. */
  readonly timestamp: string;
  /** Keys of other programs, written after ours. */
  readonly extras?: JsonObject;
}

/** The content of an entry, before it has a position. */
export type Body =
  | { readonly type: 'message'; readonly message: AgentMessage }
  | {
      readonly type: 'model_change';
      readonly provider: string;
      readonly modelId: string;
      /** xcsh: only `default`, or none, is the model of the conversation. */
      readonly role?: string;
    }
  | { readonly type: 'thinking_level_change'; readonly thinkingLevel: string | null }
  | {
      readonly type: 'compaction';
      readonly summary: string;
      readonly shortSummary?: string;
      /** The oldest kept entry; the compaction's own id if none is kept. */
      readonly firstKeptEntryId: string;
      readonly tokensBefore: number;
      readonly details?: unknown;
    }
  | {
      readonly type: 'branch_summary';
      /** `root` for none. */
      readonly fromId: string;
      readonly summary: string;
      readonly details?: unknown;
    }
  | {
      readonly type: 'custom_message';
      readonly customType: string;
      readonly content: string | readonly unknown[];
      readonly display: boolean;
      readonly details?: unknown;
    }
  | { readonly type: 'custom'; readonly customType: string; readonly data?: unknown }
  | { readonly type: 'label'; readonly targetId: string; readonly label?: string }
  | { readonly type: 'session_info'; readonly name: string };

/** An unknown kind, or a known kind in an unknown shape. It is preserved as written. */
export interface UnknownBody {
  readonly type: 'unknown';
  readonly kind: string;
  /** The whole line without Polypod's checksum and surrounding white space. */
  readonly raw: string;
}

/** One line of a session file after the header. */
export type Entry = (Body | UnknownBody) & EntryHeader;

/** The header as a line, without newline and checksum, which the store adds. */
export function encodeHeader(header: Header): string {
  const { id, version, timestamp, cwd, title, titleSource, parentSession, extras } = header;
  return JSON.stringify({
    type: 'session',
    version,
    id,
    timestamp,
    cwd,
    title,
    titleSource,
    parentSession,
    ...extras,
  });
}

/** The entry as a line, without newline and checksum. Keys have a fixed order. */
export function encodeEntry(entry: Entry): string {
  if (entry.type === 'unknown') return entry.raw;
  const { type, id, parentId, timestamp, extras } = entry;
  return JSON.stringify({ type, id, parentId, timestamp, ...payloadOf(entry), ...extras });
}

function payloadOf(body: Body): JsonObject {
  switch (body.type) {
    case 'message':
      return { message: body.message };
    case 'model_change': {
      // xcsh reads the first, pi the other two.
      const { provider, modelId, role } = body;
      return { model: `${provider}/${modelId}`, provider, modelId, role };
    }
    case 'thinking_level_change':
      return { thinkingLevel: body.thinkingLevel };
    case 'compaction': {
      const { summary, shortSummary, firstKeptEntryId, tokensBefore, details } = body;
      return { summary, shortSummary, firstKeptEntryId, tokensBefore, details };
    }
    case 'branch_summary':
      return { fromId: body.fromId, summary: body.summary, details: body.details };
    case 'custom_message': {
      const { customType, content, display, details } = body;
      return { customType, content, display, details };
    }
    case 'custom':
      return { customType: body.customType, data: body.data };
    case 'label':
      return { targetId: body.targetId, label: body.label };
    case 'session_info':
      return { name: body.name };
  }
}

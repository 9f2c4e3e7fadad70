import { isObject, type JsonObject, numberOf, tryParse, withoutUndefined } from '../../base/index.ts';
import type { AgentMessage } from './agent-message.ts';
import type { Body, Entry, Header } from './entry.ts';

/** The parsed content of a line of a session file. */
export type Line =
  | { readonly kind: 'header'; readonly header: Header }
  | { readonly kind: 'entry'; readonly entry: Entry }
  | { readonly kind: 'blank' }
  /** Neither: the line is skipped, and the reason reported. */
  | { readonly kind: 'bad'; readonly reason: string };

/** Parses a line with or without a checksum. The store verifies checksums. */
export function parseLine(text: string): Line {
  if (text.trim() === '') return { kind: 'blank' };
  const value = tryParse(text);
  if (value === undefined) return bad('not JSON');
  if (!isObject(value)) return bad('not an object');
  if (typeof value.type !== 'string') return bad('no type');
  if (typeof value.id !== 'string' || value.id === '') return bad('no id');
  if (value.type === 'session') return { kind: 'header', header: headerOf(value, value.id) };
  return { kind: 'entry', entry: entryOf(value, value.type, value.id, text) };
}

function bad(reason: string): Line {
  return { kind: 'bad', reason };
}

function headerOf(value: JsonObject, id: string): Header {
  const { title, titleSource, parentSession, cwd, timestamp, version } = value;
  return {
    id,
    version: numberOf(version) ?? 1,
    timestamp: textOr(timestamp, ''),
    cwd: textOr(cwd, ''),
    ...(typeof title === 'string' ? { title } : {}),
    ...(titleSource === 'auto' || titleSource === 'user' ? { titleSource } : {}),
    ...(typeof parentSession === 'string' ? { parentSession } : {}),
    ...extrasOf(value, HEADER_KEYS),
  };
}

function entryOf(value: JsonObject, kind: string, id: string, text: string): Entry {
  const header = {
    id,
    parentId: typeof value.parentId === 'string' ? value.parentId : null,
    timestamp: textOr(value.timestamp, ''),
  };
  const body = bodyOf(value);
  if (body === undefined) return { type: 'unknown', kind, raw: rawOf(text), ...header };
  return { ...body, ...header, ...extrasOf(value, KEYS[body.type]) };
}

function bodyOf(value: JsonObject): Body | undefined {
  const { summary, customType, details, timestamp } = value;
  // Without a time, writing the line again would give it another one.
  if (typeof timestamp !== 'string') return undefined;
  switch (value.type) {
    case 'message':
      return isMessage(value.message) ? { type: 'message', message: value.message } : undefined;
    case 'model_change':
      return modelChangeOf(value);
    case 'thinking_level_change': {
      const { thinkingLevel } = value;
      if (typeof thinkingLevel !== 'string' && thinkingLevel !== null) return undefined;
      return { type: 'thinking_level_change', thinkingLevel };
    }
    case 'compaction':
      return compactionOf(value);
    case 'branch_summary': {
      const { fromId } = value;
      if (typeof fromId !== 'string' || typeof summary !== 'string') return undefined;
      return { type: 'branch_summary', fromId, summary, ...withoutUndefined({ details }) };
    }
    case 'custom_message': {
      const { content, display } = value;
      if (typeof customType !== 'string' || !(typeof content === 'string' || Array.isArray(content))) return;
      if (typeof display !== 'boolean') return undefined;
      return { type: 'custom_message', customType, content, display, ...withoutUndefined({ details }) };
    }
    case 'custom':
      if (typeof customType !== 'string') return undefined;
      return { type: 'custom', customType, ...withoutUndefined({ data: value.data }) };
    case 'label': {
      const { targetId, label } = value;
      if (typeof targetId !== 'string') return undefined;
      return { type: 'label', targetId, ...(typeof label === 'string' ? { label } : {}) };
    }
    case 'session_info': {
      const { name } = value;
      return typeof name === 'string' ? { type: 'session_info', name } : undefined;
    }
    default:
      return undefined;
  }
}

function isMessage(value: unknown): value is AgentMessage {
  return isObject(value) && typeof value.role === 'string';
}

function modelChangeOf({ model, provider, modelId, role }: JsonObject): Body | undefined {
  const whose = typeof role === 'string' ? { role } : {};
  if (typeof provider === 'string' && typeof modelId === 'string')
    return { type: 'model_change', provider, modelId, ...whose };
  if (typeof model !== 'string') return undefined;
  const slash = model.indexOf('/');
  if (slash < 0) return undefined;
  return {
    type: 'model_change',
    provider: model.slice(0, slash),
    modelId: model.slice(slash + 1),
    ...whose,
  };
}

function compactionOf(value: JsonObject): Body | undefined {
  const { summary, shortSummary, firstKeptEntryId, details } = value;
  const tokensBefore = numberOf(value.tokensBefore);
  if (typeof summary !== 'string' || typeof firstKeptEntryId !== 'string') return undefined;
  return {
    type: 'compaction',
    summary,
    ...(typeof shortSummary === 'string' ? { shortSummary } : {}),
    firstKeptEntryId,
    tokensBefore: tokensBefore ?? 0,
    ...withoutUndefined({ details }),
  };
}

const PLACE = ['type', 'id', 'parentId', 'timestamp', 'crc'];
const HEADER_KEYS = new Set([...PLACE, 'version', 'cwd', 'title', 'titleSource', 'parentSession']);
const KEYS: Readonly<Record<Body['type'], ReadonlySet<string>>> = {
  message: new Set([...PLACE, 'message']),
  model_change: new Set([...PLACE, 'model', 'provider', 'modelId', 'role']),
  thinking_level_change: new Set([...PLACE, 'thinkingLevel']),
  compaction: new Set([...PLACE, 'summary', 'shortSummary', 'firstKeptEntryId', 'tokensBefore', 'details']),
  branch_summary: new Set([...PLACE, 'fromId', 'summary', 'details']),
  custom_message: new Set([...PLACE, 'customType', 'content', 'display', 'details']),
  custom: new Set([...PLACE, 'customType', 'data']),
  label: new Set([...PLACE, 'targetId', 'label']),
  session_info: new Set([...PLACE, 'name']),
};

function extrasOf(value: JsonObject, known: ReadonlySet<string>): { readonly extras?: JsonObject } {
  const others = Object.entries(value).filter(([key]) => !known.has(key));
  return others.length === 0 ? {} : { extras: Object.fromEntries(others) };
}

/**
 * The line as a record for the store, without surrounding white space and without `crc`, which the store appends to every line.
 */
function rawOf(line: string): string {
  return line
    .trim()
    .replace(/,"crc":(?:"[^"]*"|\d+)\}$/, '}')
    .replace(/^\{\s+/, '{');
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

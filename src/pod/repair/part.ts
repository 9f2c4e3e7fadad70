import { type JsonObject, objectOf } from '../../base/index.ts';
import type { RecoveryMethod } from '../../store/index.ts';
import type { Entry, Header } from '../session/index.ts';

/** The readable parts of a session file, in file order. */
export type Part =
  | { readonly kind: 'header'; readonly line: number; readonly header: Header; readonly raw: RawLine }
  | { readonly kind: 'entry'; readonly line: number; readonly entry: Entry; readonly raw: RawLine }
  /** A line that is not an entry. Readers skip it. */
  | { readonly kind: 'other'; readonly line: number; readonly raw: RawLine }
  | { readonly kind: 'lost'; readonly line: number; readonly lost: LostBytes }
  | { readonly kind: 'unfinished'; readonly line: number; readonly lost: LostBytes };

/** A line to write to the repaired file. */
export interface RawLine {
  /** Without checksum and newline. */
  readonly text: string;
  /** Whether it has a checksum. */
  readonly isSealed: boolean;
  /** Set if the line was restored. */
  readonly remedy?: RecoveryMethod;
}

/** Bytes that could not be restored. */
export interface LostBytes {
  readonly offset: number;
  readonly bytes: number;
  /** A description of the bytes. */
  readonly what: string;
  /** The start of the bytes, up to a limit. */
  readonly beginning: string;
}

/** Whether an object may be a whole line of a session file, not a fragment. */
export function isLine({ type, id, parentId }: JsonObject): boolean {
  if (typeof type !== 'string' || typeof id !== 'string' || id === '') return false;
  return type === 'session' || parentId === null || typeof parentId === 'string';
}

/**
 * Whether a message has the fields that every reader needs. Only checked for lines without a checksum: there a damaged byte may
 * leave valid JSON that other programs fail on.
 */
export function isWellFormed(entry: Entry): boolean {
  if (entry.type === 'unknown') return entry.kind !== 'message';
  if (entry.type !== 'message') return true;
  const { role, content, toolCallId } = entry.message;
  if (role !== 'user' && role !== 'assistant' && role !== 'toolResult') return true;
  if (role === 'assistant') return Array.isArray(content) && content.map(objectOf).every(isWellFormedBlock);
  if (role === 'toolResult' && typeof toolCallId !== 'string') return false;
  return Array.isArray(content) || typeof content === 'string';
}

function isWellFormedBlock({ type, id, name }: JsonObject): boolean {
  return type !== 'toolCall' || (typeof id === 'string' && id !== '' && typeof name === 'string');
}

/** Describes damaged bytes by their readable part. */
export function describeBytes(text: string): string {
  const type = /"type":"([a-z_]+)","id"/.exec(text)?.[1];
  const role = /"message":\{"role":"([A-Za-z]+)"/.exec(text)?.[1];
  const fact = /"customType":"polypod\.([a-z-]+)"/.exec(text)?.[1];
  if (type === 'session' || (type === undefined && /"version":\d.*"cwd":"/.test(text)))
    return 'the session header';
  if (role !== undefined) return ROLES[role] ?? `a message of the role ${role}`;
  if (fact !== undefined) return `a fact of Polypod (${fact})`;
  if (type !== undefined) return TYPES[type] ?? `an entry of the type ${type}`;
  return /^\0+$/.test(text) ? 'NUL bytes' : 'unreadable bytes';
}

const ROLES: Readonly<Record<string, string>> = {
  user: 'a message of the user',
  assistant: 'an answer of the model',
  toolResult: 'the result of a tool call',
  bashExecution: 'a command that the user ran',
};

const TYPES: Readonly<Record<string, string>> = {
  message: 'a message',
  compaction: 'a compaction',
  custom: 'a fact of another program',
  branch_summary: 'the summary of a branch',
  label: 'a label',
  session_info: 'the name of the session',
};

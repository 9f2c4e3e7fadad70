import { statSync } from 'node:fs';
import { basename, isAbsolute } from 'node:path';
import { tryParse, uuidv7 } from '../../base/index.ts';
import { FORMAT_VERSION, type Header } from '../session/index.ts';
import type { Part } from './part.ts';

/** What is known about a session besides its file. */
export interface KnownSession {
  readonly id?: string;
  readonly cwd?: string;
  readonly createdAt?: string;
}

/** Rebuilds a lost header from what is known, from the file's name, and from the readable part of the old header. */
export function rebuiltHeader(
  parts: readonly Part[],
  file: string,
  known: KnownSession,
  otherwise: { readonly cwd: string; readonly now: Date },
): Header {
  const old = parts.find((part) => part.kind === 'lost' || part.kind === 'unfinished');
  const text = old?.line === 1 ? old.lost.beginning : '';
  const entry = parts.find((part) => part.kind === 'entry');
  const { now } = otherwise;
  return {
    id: known.id ?? UUID.exec(basename(file))?.[0] ?? UUID.exec(text)?.[0] ?? uuidv7(now.getTime()),
    version: FORMAT_VERSION,
    timestamp: known.createdAt ?? entry?.entry.timestamp ?? now.toISOString(),
    cwd: known.cwd ?? directoryIn(text) ?? otherwise.cwd,
  };
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

/** The working directory in a damaged header, if the path is intact. */
function directoryIn(text: string): string | undefined {
  const quoted = /"cwd":("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const path = quoted === undefined ? undefined : tryParse(quoted);
  if (typeof path !== 'string' || !isAbsolute(path) || path.includes('\0')) return undefined;
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? path : undefined;
}

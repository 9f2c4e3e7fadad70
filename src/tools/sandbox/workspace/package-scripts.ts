import { lstatSync } from 'node:fs';
import { isObject, tryParse } from '../../../base/index.ts';
import { EXECUTED } from '../../policy/executed-fields.ts';
import { regularFileText } from './regular-file.ts';

/**
 * Returns what other programs run of a package.json, as comparable text. Undefined if there is nothing to run:
 * not a regular file, or empty.
 */
export function executedScripts(file: string): string | undefined {
  const text = regularFileText(file)?.replace(/^\uFEFF/, '');
  if (text?.trim() === '') return undefined;
  const content = tryParse(text ?? '');
  if (isObject(content)) return JSON.stringify(executedParts(content));
  // Too large, nested too deep, or with comments: we cannot parse it, but some package manager can. A program
  // cannot set the change time, so the same text means the same content.
  const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return stats?.isFile() ? `${UNREADABLE}${stats.ino}:${stats.size}:${stats.ctimeNs}` : undefined;
}

/** Returns whether `scriptsIn` could not parse the file. */
export function isUnreadable(scripts: string): boolean {
  return scripts.startsWith(UNREADABLE);
}

const UNREADABLE = 'unreadable:';

/** Returns the content of a changed package.json with its former scripts. */
export function withFormerScripts(text: string, former: string | undefined): string {
  const current = tryParse(text.replace(/^\uFEFF/, ''));
  const previous = former === undefined || isUnreadable(former) ? {} : tryParse(former);
  if (!isObject(current) || !isObject(previous)) return text;
  const merged = Object.entries(current).flatMap(([name, value]): readonly (readonly [string, unknown])[] => {
    if (!EXECUTED.includes(name)) return [[name, value]];
    return Object.hasOwn(previous, name) ? [[name, previous[name]]] : [];
  });
  const lost = Object.entries(previous).filter(([name]) => !Object.hasOwn(current, name));
  const indent = /^\{\s*?\n([ \t]+)/.exec(text)?.[1] ?? '  ';
  return `${JSON.stringify(Object.fromEntries([...merged, ...lost]), null, indent)}\n`;
}

function executedParts(content: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    EXECUTED.filter((name) => Object.hasOwn(content, name)).map((name) => [name, content[name]]),
  );
}

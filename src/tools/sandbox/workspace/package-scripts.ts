import { lstatSync } from 'node:fs';
import { isObject, tryParse } from '../../../base/index.ts';
import { EXECUTED } from '../../policy/executed-fields.ts';
import { regularFileText } from './regular-file.ts';

/**
 * What other programs run of a package.json, as text that can be compared. Undefined where there is nothing to run: no
 * regular file, or an empty one.
 */
export function scriptsIn(file: string): string | undefined {
  const text = regularFileText(file)?.replace(/^\uFEFF/, '');
  if (text?.trim() === '') return undefined;
  const content = tryParse(text ?? '');
  if (isObject(content)) return JSON.stringify(partsOf(content));
  // Too large, nested too deep, or with comments: we cannot read it, but some package manager can. A program can set no
  // change time, so the same text means the same content.
  const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return stats?.isFile() ? `${UNREADABLE}${stats.ino}:${stats.size}:${stats.ctimeNs}` : undefined;
}

/** Whether `scriptsIn` could not read the file. */
export function isUnreadable(scripts: string): boolean {
  return scripts.startsWith(UNREADABLE);
}

const UNREADABLE = 'unreadable:';

/** The content of a changed package.json with the scripts as they were. */
export function withFormerScripts(text: string, former: string | undefined): string {
  const now = tryParse(text.replace(/^\uFEFF/, ''));
  const before = former === undefined || isUnreadable(former) ? {} : tryParse(former);
  if (!isObject(now) || !isObject(before)) return text;
  const kept = Object.entries(now).flatMap(([name, value]): readonly (readonly [string, unknown])[] => {
    if (!EXECUTED.includes(name)) return [[name, value]];
    return Object.hasOwn(before, name) ? [[name, before[name]]] : [];
  });
  const lost = Object.entries(before).filter(([name]) => !Object.hasOwn(now, name));
  const indent = /^\{\s*?\n([ \t]+)/.exec(text)?.[1] ?? '  ';
  return `${JSON.stringify(Object.fromEntries([...kept, ...lost]), null, indent)}\n`;
}

function partsOf(content: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    EXECUTED.filter((name) => Object.hasOwn(content, name)).map((name) => [name, content[name]]),
  );
}

import { isObject, tryParse } from '../../base/index.ts';
import { EXECUTED } from '../policy/executed-fields.ts';
import { regularFileText } from './regular-file.ts';

/** What other programs run of a package.json, as text that can be compared; undefined for a file that cannot be read as a package.json. */
export function scriptsIn(file: string): string | undefined {
  const content = parsedFile(file);
  return content === undefined ? undefined : JSON.stringify(partsOf(content));
}

/** The content of a changed package.json with the scripts as they were. */
export function withFormerScripts(text: string, former: string | undefined): string {
  const now = tryParse(text.replace(/^\uFEFF/, ''));
  const before = former === undefined ? {} : tryParse(former);
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

function parsedFile(file: string): Readonly<Record<string, unknown>> | undefined {
  const content = tryParse(regularFileText(file)?.replace(/^\uFEFF/, '') ?? '');
  return isObject(content) ? content : undefined;
}

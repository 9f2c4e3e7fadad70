import { open, realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import type { UserContent } from '../arguments.ts';
import { fileText, TOO_LARGE } from '../encode/file-mentions.ts';

/** A larger file is mentioned but not included: the agent can read the part that it needs. */
const MOST_BYTES = 256 * 1024;
const MOST_FILES = 20;

/**
 * Appends the files of the working directory that a message mentions as `@path`, each as a separate text. Any other text after an `@` is
 * ignored.
 */
export async function withMentions(content: UserContent, cwd: string): Promise<UserContent> {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  const names = [...text.matchAll(MENTION)].map(([, quoted, plain = '']) => quoted ?? plain);
  if (names.length === 0) return content;
  const root = await realpath(cwd);
  const found = await Promise.all([...new Set(names)].slice(0, MOST_FILES).map((name) => fileOf(name, root)));
  // A message may mention a file twice.
  const texts = new Set(found.filter((file) => file !== undefined));
  return [...content, ...[...texts].map((file) => ({ type: 'text', text: file }) as const)];
}

const MENTION = /(?<![^\s(])@(?:"([^"\n]+)"|([^\s"]+))/g;

/** Undefined if there is no such file, or it is outside the directory, or not text. Punctuation may follow the name. */
async function fileOf(name: string, root: string): Promise<string | undefined> {
  for (const path of new Set([name, name.replace(/[.,;:!?)\]]+$/, '')])) {
    const body = await bodyOf(resolve(root, path), root).catch(() => undefined);
    if (body !== undefined) return fileText(path, body);
  }
  return undefined;
}

async function bodyOf(path: string, root: string): Promise<string | undefined> {
  const real = await realpath(path);
  if (!real.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
  const file = await open(real);
  try {
    const status = await file.stat();
    if (!status.isFile()) return undefined;
    if (status.size > MOST_BYTES) return TOO_LARGE;
    const text = await file.readFile('utf8');
    return text.includes('\0') ? undefined : text;
  } finally {
    await file.close();
  }
}

import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, isAbsolute, join } from 'node:path';
import { messageOf, PolypodError } from '../../../base/index.ts';
import type { Content } from '../../../llm/index.ts';
import { type EditorState, type Folded, submittedInput } from '../../../terminal/index.ts';

const MOST_BYTES = 10 * 1024 * 1024;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

/** The media type by file extension; undefined if it is not an image that models accept. */
export function imageType(path: string): string | undefined {
  return MEDIA_TYPES[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ''];
}

/** Returns a pasted image path as it appears in the input; undefined if it is not an image. */
export function foldedImage(path: string, cwd: string): Folded | undefined {
  const whole = wholePath(path, cwd);
  if (imageType(whole) === undefined || !existsSync(whole)) return undefined;
  return { label: `[image ${basename(whole)}]`, text: path, path: whole };
}

/** The input as one text, in which attached images are mentioned, so that they stay attached. */
export function mentioningFiles(state: EditorState): string {
  const folded = state.folded.map((each) =>
    each.path === undefined ? each : { ...each, text: `@"${each.path}"` },
  );
  return submittedInput({ ...state, folded }).text;
}

/** The images that are referenced as `@path`, or as `@"path"` with spaces. */
export function imagesIn(text: string, cwd: string): readonly string[] {
  const mentions = text.matchAll(/(?:^|\s)@(?:"([^"\n]+)"|([^\s"]\S*))/g);
  return Array.from(mentions, ([, quoted, plain = '']) => quoted ?? plain).filter(
    (path) => imageType(path) !== undefined && existsSync(wholePath(path, cwd)),
  );
}

/** Builds a message with the images at these paths. */
export async function contentOf(
  text: string,
  paths: readonly string[],
  cwd: string,
): Promise<readonly Content[]> {
  const images = await Promise.all([...new Set(paths)].map((path) => imageAt(path, cwd)));
  return [{ type: 'text', text }, ...images];
}

async function imageAt(path: string, cwd: string): Promise<Content> {
  const full = wholePath(path, cwd);
  try {
    const { size } = await stat(full);
    if (size > MOST_BYTES)
      throw new PolypodError(
        'bad-request',
        `it has ${size} bytes, and the limit is ${MOST_BYTES}: reduce its size`,
      );
    return {
      type: 'image',
      mediaType: imageType(path) ?? 'image/png',
      data: (await readFile(full)).toString('base64'),
    };
  } catch (thrown) {
    throw new PolypodError('bad-request', `the image ${path} cannot be sent: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}

function wholePath(path: string, cwd: string): string {
  if (path.startsWith('~/')) return join(homedir(), path.slice(2));
  return isAbsolute(path) ? path : join(cwd, path);
}

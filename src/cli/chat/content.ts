import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { messageOf, PolypodError } from '../../base/index.ts';
import type { Content } from '../../llm/index.ts';

const MOST_BYTES = 10 * 1024 * 1024;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

/** The media type by a file's name; undefined if it is no image that models can see. */
export function imageType(path: string): string | undefined {
  return MEDIA_TYPES[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ''];
}

/** A message with the images at these paths. */
export async function contentOf(
  text: string,
  paths: readonly string[],
  cwd: string,
): Promise<readonly Content[]> {
  const images = await Promise.all([...new Set(paths)].map((path) => imageAt(path, cwd)));
  return [{ type: 'text', text }, ...images];
}

async function imageAt(path: string, cwd: string): Promise<Content> {
  const full = isAbsolute(path) ? path : join(cwd, path);
  try {
    const { size } = await stat(full);
    if (size > MOST_BYTES)
      throw new PolypodError(
        'bad-request',
        `it has ${size} bytes, and at most ${MOST_BYTES} are taken: make it smaller`,
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

import { PolypodError } from '../../base/index.ts';
import type { ClientFiles } from '../client-services.ts';
import type { ToolContext } from '../tool.ts';

/** Larger files are used on disk. The content is one message, in which a byte takes up to six, and editors limit messages to 32 MiB. */
export const MAX_CLIENT_BYTES = 2 * 1024 * 1024;

export interface ClientFileRequest {
  readonly client: ClientFiles | undefined;
  readonly path: string;
  readonly access: 'read' | 'write';
  readonly resolve: ToolContext['resolve'];
  readonly isOnDisk: boolean;
}

/**
 * Returns a text file as the client has it, with unsaved changes; undefined if the file on disk is the current one. The policy
 * judges the path before the client is asked, and the client gets the path without links.
 */
export async function clientText(
  { client, path, access, resolve, isOnDisk }: ClientFileRequest,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (client?.read === undefined) return undefined;
  const real = await resolve(path, access);
  const answer = await client.read(real, signal);
  if (answer.type === 'absent') return undefined;
  if (answer.type === 'text') {
    // A link may have been put there while the client read.
    if ((await resolve(path, access)) !== real)
      throw new PolypodError('denied', `${real} was moved while it was being read; try again`);
    // For a file that does not exist, some editors return an empty text.
    return answer.text === '' && !isOnDisk ? undefined : answer.text;
  }
  // Many editors report a missing file as a general error. Without a file on disk, nothing is hidden by it.
  if (answer.type === 'failed' && !isOnDisk) return undefined;
  throw new PolypodError('unreachable', `The editor could not read ${real}: ${answer.reason}`);
}

/** Whether two texts differ only in line endings and in a byte order mark, which editors keep apart from the text. */
export function isSameText(one: string, other: string): boolean {
  return one === other || plain(one) === plain(other);
}

function plain(text: string): string {
  return text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
}

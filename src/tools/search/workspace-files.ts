import { realpath } from 'node:fs/promises';
import { listFiles } from './list-files.ts';
import { EVERY_PATH } from './path-filter.ts';
import { searchEnvironment } from './ripgrep.ts';

/** Lists the files below a directory as relative paths, without hidden and ignored ones; at most `limit`. */
export async function workspaceFiles(
  directory: string,
  { env, limit }: { readonly env: Readonly<Record<string, string>>; readonly limit: number },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const cwd = await realpath(directory);
  const files: string[] = [];
  for await (const file of listFiles(cwd, EVERY_PATH, searchEnvironment({ cwd, env }), signal)) {
    files.push(file);
    if (files.length >= limit) break;
  }
  return files;
}

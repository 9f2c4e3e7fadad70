import { arrayOf, type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import type { AgentMessage } from '../../../pod/index.ts';
import type { RpcMessage } from '../wire.ts';

/** In the place of a file that is not shown. */
export const TOO_LARGE = '[left out: too large]';

/** A file as the model reads it, as pi writes it. */
export function fileText(path: string, body: string): string {
  return `<file path="${path}">\n${body}\n</file>`;
}

/** A message as clients are shown it: files that were named in it are a message of their own, behind it. */
export function splitMentions<M extends AgentMessage | RpcMessage>(message: M): readonly (M | RpcMessage)[] {
  const { role, content, timestamp } = message;
  if (role !== 'user' || !Array.isArray(content)) return [message];
  const parts = arrayOf(content);
  const isFile = (part: unknown, at: number): boolean => at > 0 && fileIn(part) !== undefined;
  const files = parts.flatMap((part, at) => (isFile(part, at) ? [fileIn(part)] : []));
  if (files.length === 0) return [message];
  const said = { ...message, content: parts.filter((part, at) => !isFile(part, at)) };
  return [said, { role: 'fileMention', files, timestamp }];
}

function fileIn(part: unknown): JsonObject | undefined {
  const { type, text } = objectOf(part);
  const [, path, body = ''] = type === 'text' ? (FILE.exec(stringOf(text)) ?? []) : [];
  if (path === undefined) return undefined;
  if (body === TOO_LARGE) return { path, content: '', skippedReason: 'tooLarge' };
  return { path, content: body, lineCount: body.split('\n').length, byteSize: Buffer.byteLength(body) };
}

const FILE = /^<file path="([^"\n]+)">\n([\s\S]*)\n<\/file>$/;

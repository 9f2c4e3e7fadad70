import { arrayOf, type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import type { AgentMessage } from '../../../pod/index.ts';
import type { RpcMessage } from '../wire.ts';

/** Replaces the content of a file that is not shown. */
export const TOO_LARGE = '[left out: too large]';

/** The format of a file for the model, as in pi. */
export function fileText(path: string, body: string): string {
  return `<file path="${path}">\n${body}\n</file>`;
}

/** Splits a message for clients: the mentioned files become a separate message after it. */
export function splitMentions<M extends AgentMessage | RpcMessage>(message: M): readonly (M | RpcMessage)[] {
  const { role, content, timestamp } = message;
  if (role !== 'user' || !Array.isArray(content)) return [message];
  const parts = arrayOf(content);
  const isFile = (part: unknown, at: number): boolean => at > 0 && fileIn(part) !== undefined;
  const files = parts.flatMap((part, at) => (isFile(part, at) ? [fileIn(part)] : []));
  if (files.length === 0) return [message];
  const userMessage = { ...message, content: parts.filter((part, at) => !isFile(part, at)) };
  return [userMessage, { role: 'fileMention', files, timestamp }];
}

function fileIn(part: unknown): JsonObject | undefined {
  const { type, text } = objectOf(part);
  const [, path, body = ''] = type === 'text' ? (FILE.exec(stringOf(text)) ?? []) : [];
  if (path === undefined) return undefined;
  if (body === TOO_LARGE) return { path, content: '', skippedReason: 'tooLarge' };
  return { path, content: body, lineCount: body.split('\n').length, byteSize: Buffer.byteLength(body) };
}

const FILE = /^<file path="([^"\n]+)">\n([\s\S]*)\n<\/file>$/;

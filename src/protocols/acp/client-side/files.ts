import { isObject, objectOf, type PolypodError } from '../../../base/index.ts';
import type { ClientFiles, ClientRead, ClientWrite } from '../../../pod/index.ts';
import type { Peer } from '../peer.ts';
import { ACP_CODES, type ClientCapabilities } from '../wire.ts';
import { type EditorAnswer, requestWithin } from './request-within.ts';

/** How long the editor may take. A write may include formatting and saving. */
export interface FileTimeouts {
  readonly readMs: number;
  readonly writeMs: number;
}

const TIMEOUTS: FileTimeouts = { readMs: 20_000, writeMs: 60_000 };

export interface ClientFilesParts {
  readonly peer: Peer;
  readonly sessionId: string;
  readonly capabilities: Pick<ClientCapabilities, 'readFile' | 'writeFile'>;
  readonly timeouts?: FileTimeouts;
}

/** The files of the editor, with unsaved changes; undefined if it offers none. */
export function clientFiles({
  peer,
  sessionId,
  capabilities: { readFile, writeFile },
  timeouts: { readMs, writeMs } = TIMEOUTS,
}: ClientFilesParts): ClientFiles | undefined {
  if (!readFile && !writeFile) return undefined;
  const request = (
    method: string,
    params: object,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<EditorAnswer> => requestWithin(limitMs, peer, method, { sessionId, ...params }, signal);
  return {
    ...(readFile && {
      read: async (path: string, signal: AbortSignal): Promise<ClientRead> => {
        const answer = await request('fs/read_text_file', { path }, readMs, signal);
        switch (answer.type) {
          case 'result': {
            const { content } = objectOf(answer.result);
            return typeof content === 'string'
              ? { type: 'text', text: content }
              : { type: 'failed', reason: 'its answer has no content' };
          }
          case 'error':
            return isMissing(answer.error)
              ? { type: 'absent' }
              : { type: 'failed', reason: answer.error.message };
          case 'disconnected':
            return { type: 'absent' };
          case 'unanswered':
            return { type: 'unanswered', reason: `no answer within ${readMs / 1000} s` };
        }
      },
    }),
    ...(writeFile && {
      write: async (path: string, content: string, signal: AbortSignal): Promise<ClientWrite> => {
        const answer = await request('fs/write_text_file', { path, content }, writeMs, signal);
        switch (answer.type) {
          case 'result':
            return { type: 'written' };
          case 'error':
            return isNotFound(answer.error)
              ? { type: 'absent' }
              : { type: 'failed', reason: answer.error.message };
          case 'disconnected':
            return {
              type: 'failed',
              reason: 'it disconnected. Read the file before the next change: it may have been written',
            };
          case 'unanswered':
            return {
              type: 'failed',
              reason: `no answer within ${writeMs / 1000} s. Read the file before the next change: it may have been written`,
            };
        }
      },
    }),
  };
}

function isNotFound({ cause }: PolypodError): boolean {
  return isObject(cause) && cause.code === ACP_CODES.notFound;
}

/** Editors have no common code for a file that they do not have, only similar texts. */
function isMissing(error: PolypodError): boolean {
  return isNotFound(error) || MISSING.test(error.message) || MISSING.test(detailsOf(error));
}

function detailsOf({ cause }: PolypodError): string {
  const { data } = objectOf(cause);
  const details = typeof data === 'string' ? data : objectOf(data).details;
  return typeof details === 'string' ? details : '';
}

const MISSING = /\bENOENT\b|no such file|not found|does not exist/i;

/** The handler of each command. */
import type { Caller, PodCommand, ValidCommandOf } from '../../command.ts';
import * as others from './others.ts';
import type { Handler, PodParts, Reply, RecordReceipt } from './parts.ts';
import * as rewind from './rewind.ts';
import * as running from './running.ts';

const HANDLERS: { readonly [T in PodCommand['type']]: Handler<T> } = {
  prompt: running.prompt,
  steer: running.steer,
  'follow-up': running.followUp,
  'clear-queue': running.clearQueue,
  cancel: running.cancel,
  pause: running.pause,
  resume: running.resume,
  'abort-retry': running.abortRetry,
  compact: running.compact,
  decide: others.decide,
  ask: others.ask,
  configure: others.configure,
  branch: rewind.branch,
  rewind: rewind.rewind,
  shell: others.shell,
  'abort-shell': others.abortShell,
  'end-background': others.endBackground,
  'set-todos': others.setTodos,
  'tool-result': others.toolResult,
  'tool-update': others.toolUpdate,
  close: others.close,
};

export function perform<T extends PodCommand['type']>(
  command: ValidCommandOf<T> & { readonly type: T },
  caller: Caller,
  recordReceipt: RecordReceipt,
  pod: PodParts,
): Promise<Reply> {
  const handler: Handler<T> = HANDLERS[command.type];
  return handler(command, caller, recordReceipt, pod);
}

export type { PodParts, Reply, RecordReceipt } from './parts.ts';

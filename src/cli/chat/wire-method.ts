import { type JsonObject, PolypodError, stringOf } from '../../base/index.ts';
import type { PodCommand } from '../../pod/index.ts';
import { wireSettings } from '../../protocols/index.ts';

/** A command as the wire has it. */
export function methodFor(command: PodCommand): readonly [string, JsonObject] {
  switch (command.type) {
    case 'prompt': {
      const { whenBusy, content } = command;
      return ['run', { ...said(content), ...(whenBusy && { when_busy: whenBusy.replace('-', '_') }) }];
    }
    case 'steer':
      return ['steer', said(command.content)];
    case 'follow-up':
      return ['follow_up', said(command.content)];
    case 'decide': {
      const { type: _, approvalId, updatedArguments, ...rest } = command;
      return [
        'decide',
        {
          approval_id: approvalId,
          ...(updatedArguments && { updated_arguments: updatedArguments }),
          ...rest,
        },
      ];
    }
    case 'branch':
      return ['branch', { entry_id: command.entryId }];
    case 'configure':
      return ['configure', { set: wireSettings(command.set ?? {}) }];
    case 'cancel':
    case 'pause':
    case 'resume':
    case 'compact':
    case 'shell':
    case 'close': {
      const { type, ...params } = command;
      return [type, params];
    }
    case 'clear-queue':
      return ['clear_queue', {}];
    case 'abort-retry':
      return ['abort_retry', {}];
    case 'abort-shell':
      return ['abort_shell', {}];
    default:
      throw new PolypodError('bad-request', `${command.type} cannot be asked for over a pod's socket`);
  }
}

function said(content: readonly { readonly type: string }[]): JsonObject {
  const text = content.flatMap((part) => ('text' in part ? [stringOf(part.text)] : [])).join('\n');
  const images = content.flatMap((part) =>
    'mediaType' in part && 'data' in part ? [{ media_type: part.mediaType, data: part.data }] : [],
  );
  return { input: text, ...(images.length > 0 && { images }) };
}

import type { ConversationItem, ItemOf, Snapshot } from '../../../pod/index.ts';
import type { ClientCapabilities, SessionUpdate } from '../wire.ts';
import { userChunks } from './session-updates.ts';
import { blockOf, inputOf, kindOf, locationsOf, resultFields, titleOf } from './tool-call.ts';

type CallDiff = NonNullable<Snapshot['diffs']>[number];

/** An item of a recorded conversation. */
export interface RecordedItem {
  readonly item: ConversationItem['item'];
  readonly messageId: string;
}

export interface ReplayOptions {
  readonly cwd: string;
  readonly capabilities: Pick<ClientCapabilities, 'compaction'>;
  /** The changes that calls have made to files. */
  readonly diffs: readonly CallDiff[];
}

/** The updates that show a recorded conversation, as `session/load` sends them, and the calls that have no result. */
export function replayOf(
  items: readonly RecordedItem[],
  options: ReplayOptions,
): { readonly updates: readonly SessionUpdate[]; readonly open: readonly ItemOf<'tool-call'>[] } {
  const calls = new Map<string, ItemOf<'tool-call'>>();
  const updates = items.flatMap((recorded) => {
    const { item } = recorded;
    const call = item.type === 'tool-result' ? calls.get(item.callId) : undefined;
    if (item.type === 'tool-call') calls.set(item.callId, item);
    if (item.type === 'tool-result') calls.delete(item.callId);
    return updatesOf(recorded, call, options);
  });
  return { updates, open: [...calls.values()] };
}

function updatesOf(
  { item, messageId }: RecordedItem,
  call: ItemOf<'tool-call'> | undefined,
  { cwd, capabilities, diffs }: ReplayOptions,
): readonly SessionUpdate[] {
  switch (item.type) {
    case 'message': {
      if (item.role === 'user') return userChunks(item.content, messageId);
      if (item.role !== 'assistant') return [];
      return item.content.map((part) => ({
        sessionUpdate: 'agent_message_chunk',
        content: blockOf(part),
        messageId,
      }));
    }
    case 'reasoning':
      return item.text === ''
        ? []
        : [
            {
              sessionUpdate: 'agent_thought_chunk',
              content: { type: 'text', text: item.text },
              messageId,
            },
          ];
    case 'tool-call': {
      const input = inputOf(item.arguments);
      const locations = locationsOf(input, cwd);
      return [
        {
          sessionUpdate: 'tool_call',
          toolCallId: item.callId,
          title: titleOf(item.name, input),
          name: item.name,
          kind: kindOf(item.name),
          status: 'pending',
          ...(input && { rawInput: input }),
          ...(locations.length > 0 && { locations }),
        },
      ];
    }
    case 'tool-result': {
      const diff = diffs.find(({ callId }) => callId === item.callId)?.diff;
      const input = call && inputOf(call.arguments);
      return [
        {
          sessionUpdate: 'tool_call_update',
          toolCallId: item.callId,
          status: item.isError ? 'failed' : 'completed',
          ...resultFields({ content: item.content, ...(diff && { details: { diff } }) }, input, cwd),
        },
      ];
    }
    case 'summary':
      if (capabilities.compaction)
        return [
          {
            sessionUpdate: 'compaction_update',
            compactionId: messageId,
            status: 'completed',
            summary: [{ type: 'text', text: item.text }],
          },
        ];
      return [
        {
          sessionUpdate: 'agent_thought_chunk',
          content: { type: 'text', text: `The conversation before this point was compacted:\n${item.text}` },
          messageId,
        },
      ];
    case 'opaque':
      return [];
  }
}

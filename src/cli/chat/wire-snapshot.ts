import { arrayOf, type JsonObject, numberOf, stringOf } from '../../base/index.ts';
import type { PodLine } from '../../client/index.ts';
import type { Item } from '../../llm/index.ts';
import type { Snapshot } from '../../pod/index.ts';
import {
  approvalIn,
  contentIn,
  modelIn,
  NOTHING_USED,
  objectsIn,
  oneOf,
  queuedIn,
  settingsIn,
  stateIn,
  todosIn,
} from './wire-values.ts';

/** The snapshot of a line. */
export function wireSnapshot({ data, seq = 0 }: PodLine): Snapshot {
  const model = modelIn(data.model) ?? { provider: '', modelId: '' };
  const cost = numberOf(data.cost);
  const contextWindow = numberOf(data.context_window);
  return {
    seq,
    id: stringOf(data.session_id),
    cwd: stringOf(data.cwd),
    createdAt: stringOf(data.created_at),
    state: stateIn(data.detail),
    settings: settingsIn(data.settings),
    model,
    items: objectsIn(data.items).flatMap(itemIn),
    leafId: null,
    turn: numberOf(data.turn) ?? 0,
    blocks: objectsIn(data.in_flight).flatMap((block, index) => {
      const { type } = block;
      const rest = { index, open: block.open === true, text: stringOf(block.text) };
      return type === 'text' || type === 'thinking' ? [{ blockType: type, ...rest } as const] : [];
    }),
    tools: objectsIn(data.tools).map(({ id, name, title, text }) => ({
      call: { callId: stringOf(id), name: stringOf(name), arguments: '', title: stringOf(title) },
      text: stringOf(text),
    })),
    shells: objectsIn(data.shells).map((shell) => ({
      shellId: stringOf(shell.shell_id),
      command: stringOf(shell.command),
      private: shell.private === true,
    })),
    approvals: objectsIn(data.approvals).map(approvalIn),
    denied: arrayOf(data.denied).map(stringOf),
    queue: objectsIn(data.queue).map(queuedIn),
    todos: todosIn(data.todos),
    compacting: data.compacting === true,
    stats: {
      totals: { ...NOTHING_USED, ...(cost === undefined ? {} : { cost }) },
      contextTokens: numberOf(data.context_tokens) ?? 0,
      ...(contextWindow === undefined ? {} : { contextWindow }),
    },
  };
}

function itemIn(data: JsonObject): readonly Item[] {
  switch (data.type) {
    case 'message': {
      const role = oneOf(['user', 'assistant', 'system'] as const, data.role) ?? 'user';
      return [{ type: 'message', role, content: contentIn(data) }];
    }
    case 'tool_call':
      return [
        {
          type: 'tool-call',
          callId: stringOf(data.call_id),
          name: stringOf(data.name),
          arguments: stringOf(data.arguments),
        },
      ];
    case 'tool_result': {
      const content = [{ type: 'text', text: stringOf(data.output) } as const];
      return [
        { type: 'tool-result', callId: stringOf(data.call_id), content, isError: data.is_error === true },
      ];
    }
    default:
      return [];
  }
}

import {
  arrayOf,
  isObject,
  type JsonObject,
  objectOf,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';
import type { Cost, Item, StopReason, Usage, ProviderApi, ItemOf } from '../../llm/index.ts';
import { interruptedItems } from '../../worker/index.ts';
import { apiOf, callIdOf, itemOfBlock } from './block.ts';
import { encodeContent, readContent } from './content.ts';
import type { AgentMessage } from './agent-message.ts';
import { foreignItems, userItem } from './foreign.ts';
import { differenceOf, encodeAnswer, followSteps, applyDifference } from './answer-encoding.ts';
import { encodeUsage, usageNotes } from './usage.ts';

/** How an answer ended, in the file's terms. */
export type FileStopReason = 'stop' | 'length' | 'toolUse' | 'error' | 'aborted';

/** An answer without its items. */
export interface AnswerDetails {
  readonly wire: ProviderApi;
  readonly provider: string;
  readonly model: string;
  readonly stopReason: FileStopReason;
  readonly usage?: Usage;
  readonly cost?: Cost;
  readonly errorMessage?: string;
  /** In milliseconds, as in all messages. */
  readonly timestamp: number;
}

type MessageItem = ItemOf<'message'>;
type ResultItem = ItemOf<'tool-result'>;

/** A user or system message. */
export function inputMessage(item: MessageItem, timestamp: number): AgentMessage {
  const role = item.role === 'system' ? 'developer' : 'user';
  const message = { role, content: encodeContent(item.content), timestamp };
  return withNotes(message, noteFor(item, plainItems(message)));
}

/** An answer as one message with its blocks in order. */
export function answerMessage(items: readonly Item[], answer: AnswerDetails): AgentMessage {
  const { wire, provider, model, stopReason, errorMessage, timestamp } = answer;
  const api = apiOf(wire);
  const { content, steps } = encodeAnswer(items, api);
  const usage = encodeUsage(answer);
  const message = { role: 'assistant', content, api, provider, model, usage, stopReason, timestamp };
  const isComplete = items.length === 0 || (!isBroken(message) && steps.every((step) => step === 1));
  return withNotes(errorMessage === undefined ? message : { ...message, errorMessage }, {
    ...(isComplete ? {} : { items: steps }),
    ...usageNotes(answer),
  });
}

/** An interrupted answer with its partial content. It is shown to people and not sent to a model. */
export function brokenMessage(items: readonly Item[], answer: AnswerDetails): AgentMessage {
  const { content } = encodeAnswer(items, apiOf(answer.wire));
  return { ...answerMessage([], answer), content };
}

/** The result of a call. It includes the tool's name, for readers that do not look up the call. */
export function resultMessage(
  item: ResultItem,
  toolName: string,
  timestamp: number,
  details?: unknown,
): AgentMessage {
  const message = {
    role: 'toolResult',
    toolCallId: item.callId,
    toolName,
    content: encodeContent(item.content),
    ...withoutUndefined({ details }),
    isError: item.isError,
    timestamp,
  };
  return withNotes(message, noteFor(item, plainItems(message)));
}

/**
 * The stop reason of an answer. Other programs omit `error` and `aborted` answers from requests. An answer whose calls have
 * results must stay, or the results would have no call.
 */
export function fileStopReason(
  outcome: 'completed' | 'cancelled' | 'failed',
  reason: StopReason | undefined,
  items: readonly Item[],
): FileStopReason {
  if (items.some((item) => item.type === 'tool-call')) return 'toolUse';
  if (outcome !== 'completed') return outcome === 'cancelled' ? 'aborted' : 'error';
  return reason === 'max-tokens' || reason === 'context-full' ? 'length' : 'stop';
}

/**
 * The items that a message adds to the conversation: exactly our items if Polypod wrote it, a translation if another program did.
 */
export function itemsOf(message: AgentMessage): readonly Item[] {
  const plain = plainItems(message);
  if (!isObject(message.polypod)) return plain;
  const { items, set } = message.polypod;
  if (message.role === 'assistant') {
    if (items === undefined) return plain;
    return followSteps(items, blocksIn(message), stringOf(message.api)) ?? plain;
  }
  return plain.map((item) => applyDifference(item, set) ?? item);
}

function plainItems(message: AgentMessage): readonly Item[] {
  switch (message.role) {
    case 'user':
      return [userItem(readContent(message.content))];
    case 'developer':
      return [{ type: 'message', role: 'system', content: readContent(message.content) }];
    case 'assistant':
      return answerItems(message);
    case 'toolResult': {
      const callId = callIdOf(stringOf(message.toolCallId));
      const content = readContent(message.content);
      return [{ type: 'tool-result', callId, content, isError: message.isError === true }];
    }
    default:
      return foreignItems(message);
  }
}

function answerItems(message: AgentMessage): readonly Item[] {
  if (message.stopReason === 'aborted') return interruptedItems(textsOf(message));
  if (isBroken(message)) return [];
  return blocksIn(message).flatMap((block) => itemOfBlock(block, stringOf(message.api)) ?? []);
}

function textsOf(message: AgentMessage): readonly string[] {
  return blocksIn(message).flatMap(({ type, text }) => (type === 'text' ? [stringOf(text)] : []));
}

/** Interrupted answers may contain half a thought or half a call; pi does not send them again. */
function isBroken({ stopReason }: AgentMessage): boolean {
  return stopReason === 'error' || stopReason === 'aborted';
}

function blocksIn(message: AgentMessage): readonly JsonObject[] {
  return arrayOf(message.content).map(objectOf);
}

function noteFor(item: Item, [read]: readonly Item[]): JsonObject {
  const set = read && differenceOf(read, item);
  return set === undefined ? {} : { set };
}

/** Polypod's own key comes last, and only if it has content. */
function withNotes(message: AgentMessage, notes: JsonObject): AgentMessage {
  return Object.keys(notes).length === 0 ? message : { ...message, polypod: notes };
}

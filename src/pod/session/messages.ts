import { arrayOf, isObject, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import type { Cost, Item, StopReason, Usage, Wire, ItemOf } from '../../llm/index.ts';
import { interruptedItems } from '../../worker/index.ts';
import { apiOf, callIdOf, itemOfBlock } from './block.ts';
import { encodeContent, readContent } from './content.ts';
import type { AgentMessage } from './agent-message.ts';
import { foreignItems, userItem } from './foreign.ts';
import { differenceOf, encodeAnswer, followSteps, patched } from './recipe.ts';
import { encodeUsage, usageNotes } from './usage.ts';

/** How an answer ended, in the words of the file. */
export type FileStopReason = 'stop' | 'length' | 'toolUse' | 'error' | 'aborted';

/** All of an answer but its items. */
export interface Answer {
  readonly wire: Wire;
  readonly provider: string;
  readonly model: string;
  readonly stopReason: FileStopReason;
  readonly usage?: Usage;
  readonly cost?: Cost;
  readonly errorMessage?: string;
  /** In milliseconds, as everywhere inside messages. */
  readonly timestamp: number;
}

type MessageItem = ItemOf<'message'>;
type ResultItem = ItemOf<'tool-result'>;

/** A person's message, or one of the system's. */
export function inputMessage(item: MessageItem, timestamp: number): AgentMessage {
  const role = item.role === 'system' ? 'developer' : 'user';
  const message = { role, content: encodeContent(item.content), timestamp };
  return withNotes(message, noteFor(item, plainItems(message)));
}

/** An answer as one message, its blocks in order. */
export function answerMessage(items: readonly Item[], answer: Answer): AgentMessage {
  const { wire, provider, model, stopReason, errorMessage, timestamp } = answer;
  const api = apiOf(wire);
  const { content, steps } = encodeAnswer(items, api);
  const usage = encodeUsage(answer);
  const message = { role: 'assistant', content, api, provider, model, usage, stopReason, timestamp };
  const saysItAll = items.length === 0 || (!isBroken(message) && steps.every((step) => step === 1));
  return withNotes(errorMessage === undefined ? message : { ...message, errorMessage }, {
    ...(saysItAll ? {} : { items: steps }),
    ...usageNotes(answer),
  });
}

/** An answer that broke off, with what there is of it: for people to see, and for nobody to send again. */
export function brokenMessage(items: readonly Item[], answer: Answer): AgentMessage {
  const { content } = encodeAnswer(items, apiOf(answer.wire));
  return { ...answerMessage([], answer), content };
}

/** The result of a call. The tool's name stands beside it for readers that do not look for the call. */
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
    ...(details === undefined ? {} : { details }),
    isError: item.isError,
    timestamp,
  };
  return withNotes(message, noteFor(item, plainItems(message)));
}

/** A list of items as messages: neighbouring items of the model become one answer. */
export function messagesOf(items: readonly Item[], answer: Answer): readonly AgentMessage[] {
  const messages: AgentMessage[] = [];
  const names = new Map<string, string>();
  let open: Item[] = [];
  const close = () => {
    if (open.length > 0) messages.push(answerMessage(open, answer));
    open = [];
  };
  for (const item of items) {
    if (item.type === 'tool-call') names.set(item.callId, item.name);
    if (item.type === 'tool-result') {
      close();
      messages.push(resultMessage(item, names.get(item.callId) ?? '', answer.timestamp));
    } else if (item.type === 'message' && item.role !== 'assistant') {
      close();
      messages.push(inputMessage(item, answer.timestamp));
    } else open.push(item);
  }
  close();
  return messages;
}

/**
 * The word for an answer's end. Others leave `error` and `aborted` answers out of what they send; one whose calls have
 * results must stay, or the results would answer nothing.
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

/** What a message puts into the conversation: exactly our items where we wrote it, the sense of it where others did. */
export function itemsOf(message: AgentMessage): readonly Item[] {
  const plain = plainItems(message);
  if (!isObject(message.polypod)) return plain;
  const { items, set } = message.polypod;
  if (message.role === 'assistant') {
    if (items === undefined) return plain;
    return followSteps(items, blocksIn(message), stringOf(message.api)) ?? plain;
  }
  return plain.map((item) => patched(item, set) ?? item);
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

/** Broken answers may hold half a thought or half a call; pi sends none of them again. */
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

/** Our own key, last, and only where there is something to say. */
function withNotes(message: AgentMessage, notes: JsonObject): AgentMessage {
  return Object.keys(notes).length === 0 ? message : { ...message, polypod: notes };
}

import { readArguments, type Seal } from '../llm/index.ts';
import { BlockOrder } from './block-order.ts';
import { GrowingText } from './growing-text.ts';
import { type Handler, handler } from './handler.ts';
import type { ToolUseBlockEvent } from './kind.ts';
import type { Timeline } from './timeline.ts';

/** A call that the model completed. Its input is there only once `invalid` has been ruled out. */
export type ToolCall = ValidToolCall | InvalidToolCall;

export interface ValidToolCall extends CallText {
  readonly input: ToolInput;
  readonly invalid?: never;
}

/** A call whose arguments are no JSON object: for the model to be told, not for a tool to run. */
export interface InvalidToolCall extends CallText {
  /** What is wrong with the arguments, in words for the model. */
  readonly invalid: string;
  readonly input?: never;
}

/** The arguments of a call, of which only the tool knows what they should be. */
export type ToolInput = { readonly [key: string]: unknown };

interface CallText {
  readonly id: string;
  readonly name: string;
  /** As the model wrote them; `{}` where it wrote nothing. */
  readonly arguments: string;
  readonly seal?: Seal;
}

/** Collects the completed tool calls in block order, which is the order in which the model made them. */
export class ToolCallCollector implements Handler<'tool-use-block', GrowingText> {
  readonly kind = 'tool-use-block';
  readonly #collected = new BlockOrder<ToolCall>();

  /** Registers the collector so that requests stay apart: the calls of a cancelled or failed one are dropped at once. */
  attach(timeline: Timeline): this {
    timeline.onToolUseBlock(this).onStatus(
      handler('status', ({ status }) => {
        if (status !== 'completed') this.clear();
      }),
    );
    return this;
  }

  collected(): readonly ToolCall[] {
    return this.#collected.values();
  }

  takeCollected(): ToolCall[] {
    const calls = this.#collected.values();
    this.clear();
    return calls;
  }

  hasPendingCalls(): boolean {
    return !this.#collected.isEmpty;
  }

  clear(): void {
    this.#collected.clear();
  }

  scope(): GrowingText {
    return new GrowingText();
  }

  onEvent(scope: GrowingText, event: ToolUseBlockEvent): void {
    if (event.type === 'input-json') scope.add(event.json);
    else if (event.type === 'stop') this.#collected.add(event.index, toolCall(event, scope.toString()));
  }
}

function toolCall({ id, name, seal }: ToolUseBlockEvent & { type: 'stop' }, json: string): ToolCall {
  const text = json.trim() === '' ? '{}' : json;
  const call = { id, name, arguments: text, ...(seal === undefined ? {} : { seal }) };
  const read = readArguments(text);
  if ('reason' in read) {
    const problem = read.problem === 'too-deep' ? 'nested too deep' : 'not valid JSON';
    return { ...call, invalid: `The arguments are ${problem}: ${read.reason}` };
  }
  if (isToolInput(read.value)) return { ...call, input: read.value };
  return { ...call, invalid: 'The arguments are not a JSON object.' };
}

function isToolInput(value: unknown): value is ToolInput {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

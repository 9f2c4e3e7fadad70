import { parseArguments, type Seal } from '../llm/index.ts';
import { BlockOrder } from './block-order.ts';
import { TextBuffer } from './text-buffer.ts';
import { type Handler, handler } from './handler.ts';
import type { ToolUseBlockEvent } from './kind.ts';
import type { Timeline } from './timeline.ts';

/** A completed call of the model. `input` is available only if `invalid` is undefined. */
export type ToolCall = ValidToolCall | InvalidToolCall;

export interface ValidToolCall extends CallText {
  readonly input: ToolInput;
  readonly invalid?: never;
}

/** A call whose arguments are not a JSON object. It is reported to the model and not run. */
export interface InvalidToolCall extends CallText {
  /** The problem with the arguments, worded for the model. */
  readonly invalid: string;
  readonly input?: never;
}

/** The arguments of a call, to be validated by the tool. */
export type ToolInput = { readonly [key: string]: unknown };

interface CallText {
  readonly id: string;
  readonly name: string;
  /** As the model wrote them; `{}` if it wrote nothing. */
  readonly arguments: string;
  readonly seal?: Seal;
}

/** Collects the completed tool calls in block order. */
export class ToolCallCollector implements Handler<'tool-use-block', TextBuffer> {
  readonly kind = 'tool-use-block';
  readonly #collected = new BlockOrder<ToolCall>();

  /** Registers the collector and drops the calls of cancelled and failed requests. */
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

  scope(): TextBuffer {
    return new TextBuffer();
  }

  onEvent(scope: TextBuffer, event: ToolUseBlockEvent): void {
    if (event.type === 'input-json') scope.add(event.json);
    else if (event.type === 'stop') this.#collected.add(event.index, toolCall(event, scope.toString()));
  }
}

function toolCall({ id, name, seal }: ToolUseBlockEvent & { type: 'stop' }, json: string): ToolCall {
  const text = json.trim() === '' ? '{}' : json;
  const call = { id, name, arguments: text, ...(seal === undefined ? {} : { seal }) };
  const read = parseArguments(text);
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

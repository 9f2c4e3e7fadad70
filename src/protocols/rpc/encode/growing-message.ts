import { type JsonObject, parseObject } from '../../../base/index.ts';
import type { PodEventOf } from '../../../pod/index.ts';
import { partialObject } from './partial-json.ts';
import type { RpcMessage } from '../wire.ts';

type BlockStart = PodEventOf<'block-start'>;

/** The content type of a block: one of the protocol's three. Actions of the provider itself are not shown. */
export type ContentKind = 'text' | 'thinking' | 'toolcall';

export interface ContentPosition {
  readonly contentIndex: number;
  readonly kind: ContentKind;
}

interface GrowingBlock {
  readonly kind: ContentKind;
  readonly head: JsonObject;
  text: string;
  /** The JSON of a block that is complete. */
  json: string | undefined;
}

/** An answer in progress. The cost of a delta does not depend on the length of the answer; only `json` reads all of it. */
export class GrowingMessage {
  readonly #rest: JsonObject;
  readonly #blocks: GrowingBlock[] = [];
  /** Maps the provider's block index to the index in the content. */
  readonly #contentIndexes = new Map<number, number>();

  /** `rest` is the message without its content. */
  constructor(rest: JsonObject) {
    this.#rest = rest;
  }

  /** The index in the content and the type of a block; undefined for a block that is not shown. */
  at(index: number): ContentPosition | undefined {
    const contentIndex = this.#contentIndexes.get(index);
    const block = contentIndex === undefined ? undefined : this.#blocks[contentIndex];
    return contentIndex === undefined || block === undefined ? undefined : { contentIndex, kind: block.kind };
  }

  start(event: BlockStart): void {
    const block = blockFrom(event);
    if (block === undefined) return;
    this.#contentIndexes.set(event.index, this.#blocks.length);
    this.#blocks.push(block);
  }

  grow(contentIndex: number, text: string): void {
    const block = this.#blocks[contentIndex];
    if (block !== undefined) block.text += text;
  }

  /** Completes a block. */
  finish(contentIndex: number): JsonObject {
    const block = this.#blocks[contentIndex];
    if (block === undefined) return {};
    const content = finished(block);
    block.json = JSON.stringify(content);
    return content;
  }

  textAt(contentIndex: number): string {
    return this.#blocks[contentIndex]?.text ?? '';
  }

  /** The message so far, as JSON. */
  json(): string {
    const { role, ...rest } = this.#rest;
    const content = this.#blocks.map((block) => block.json ?? JSON.stringify(growing(block))).join(',');
    return `{"role":${JSON.stringify(role)},"content":[${content}],${JSON.stringify(rest).slice(1)}`;
  }

  /** The content of an incomplete answer. Its calls are not run and are therefore omitted. */
  broken(): readonly JsonObject[] {
    return this.#blocks.filter(({ kind, text }) => kind !== 'toolcall' && text !== '').map(finished);
  }

  /** The message before its first block. */
  empty(): RpcMessage {
    return { role: 'assistant', content: [], ...this.#rest };
  }
}

function blockFrom(event: BlockStart): GrowingBlock | undefined {
  switch (event.blockType) {
    case 'text':
    case 'thinking':
      return { kind: event.blockType, head: { type: event.blockType }, text: '', json: undefined };
    case 'tool-use':
      return {
        kind: 'toolcall',
        head: { type: 'toolCall', id: event.id, name: event.name },
        text: '',
        json: undefined,
      };
    default:
      return undefined;
  }
}

/** The arguments of a call so far, and the text that they were parsed from. */
function growing({ kind, head, text }: GrowingBlock): JsonObject {
  return kind === 'toolcall'
    ? { ...head, arguments: partialObject(text), partialJson: text }
    : { ...head, [kind]: text };
}

function finished({ kind, head, text }: GrowingBlock): JsonObject {
  return kind === 'toolcall' ? { ...head, arguments: parseObject(text) ?? {} } : { ...head, [kind]: text };
}

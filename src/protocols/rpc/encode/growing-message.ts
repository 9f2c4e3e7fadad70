import { type JsonObject, objectIn } from '../../../base/index.ts';
import type { PodEventOf } from '../../../pod/index.ts';
import { partialObject } from './partial-json.ts';
import type { RpcMessage } from '../wire.ts';

type BlockStart = PodEventOf<'block-start'>;

/** Which of the protocol's three kinds of content a block is shown as; what a provider did by itself is not shown. */
export type ContentKind = 'text' | 'thinking' | 'toolcall';

export interface ContentPlace {
  readonly contentIndex: number;
  readonly kind: ContentKind;
}

interface GrowingBlock {
  readonly kind: ContentKind;
  readonly head: JsonObject;
  text: string;
  /** What is written of it once it no longer grows. */
  json: string | undefined;
}

/** An answer while it is being written. A delta costs the same however long the answer is; only `json` looks at all of it. */
export class GrowingMessage {
  readonly #rest: JsonObject;
  readonly #blocks: GrowingBlock[] = [];
  /** The provider's number of a block to its place in the content. */
  readonly #dataPaths = new Map<number, number>();

  /** `rest` is all of the message but its content. */
  constructor(rest: JsonObject) {
    this.#rest = rest;
  }

  /** The block's place in the content, and its kind; undefined for one that is not shown. */
  at(index: number): ContentPlace | undefined {
    const contentIndex = this.#dataPaths.get(index);
    const block = contentIndex === undefined ? undefined : this.#blocks[contentIndex];
    return contentIndex === undefined || block === undefined ? undefined : { contentIndex, kind: block.kind };
  }

  start(event: BlockStart): void {
    const block = blockFrom(event);
    if (block === undefined) return;
    this.#dataPaths.set(event.index, this.#blocks.length);
    this.#blocks.push(block);
  }

  grow(contentIndex: number, text: string): void {
    const block = this.#blocks[contentIndex];
    if (block !== undefined) block.text += text;
  }

  /** The block as it stays. */
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

  /** What there is of it when it breaks off; its calls are not run, so they are left out. */
  broken(): readonly JsonObject[] {
    return this.#blocks.filter(({ kind, text }) => kind !== 'toolcall' && text !== '').map(finished);
  }

  /** Before the first block. */
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

/** A call's arguments as far as they are written, and the text that they are read from. */
function growing({ kind, head, text }: GrowingBlock): JsonObject {
  return kind === 'toolcall'
    ? { ...head, arguments: partialObject(text), partialJson: text }
    : { ...head, [kind]: text };
}

function finished({ kind, head, text }: GrowingBlock): JsonObject {
  return kind === 'toolcall' ? { ...head, arguments: objectIn(text) ?? {} } : { ...head, [kind]: text };
}

import { type JsonObject, stringOf } from '../../base/index.ts';
import type { PodLine } from '../../client/index.ts';
import type { PodEvent, PodFact, Snapshot } from '../../pod/index.ts';
import type { CallStatus } from '../../worker/index.ts';
import { FACTS } from './wire-facts.ts';
import { oneOf } from './wire-values.ts';

/**
 * Lines of the Pod Protocol, with extras, as the events they came from. What the wire does not carry, such as diffs, is not
 * there; what a view does not need is left out.
 */
export class WireEvents {
  /** Blocks of text and thinking are not numbered on the wire: there is one of each at a time. */
  #open: 'text' | 'thinking' | undefined;
  #index = 0;
  readonly #names = new Map<string, string>();

  events({ event, data, seq = 0 }: PodLine): readonly PodEvent[] {
    return this.#facts(event, data).map((fact) => ({ ...fact, seq }));
  }

  /** What follows a snapshot goes on with the blocks that are open in it. */
  joined({ blocks }: Snapshot): void {
    const last = blocks.at(-1);
    this.#index = last?.index ?? 0;
    this.#open =
      last?.open === true && (last.blockType === 'text' || last.blockType === 'thinking')
        ? last.blockType
        : undefined;
  }

  #facts(event: string, data: JsonObject): readonly PodFact[] {
    switch (event) {
      case 'text_delta':
        return this.#delta('text', stringOf(data.text));
      case 'thinking_delta':
        return this.#delta('thinking', stringOf(data.text));
      case 'text_done':
      case 'thinking_done':
        return this.#stop();
      case 'block_aborted':
        return this.#abort(stringOf(data.reason));
      case 'tool_call_start':
        this.#index += 1;
        return [
          {
            type: 'block-start',
            index: this.#index,
            blockType: 'tool-use',
            id: stringOf(data.id),
            name: stringOf(data.name),
          },
        ];
      case 'tool_start': {
        const [callId, name] = [stringOf(data.id), stringOf(data.name)];
        this.#names.set(callId, name);
        const call = { callId, name, arguments: stringOf(data.arguments), title: stringOf(data.title) };
        return [{ type: 'tool-start', call }];
      }
      case 'tool_result':
        return [this.#toolEnd(data)];
      default: {
        const read = Object.hasOwn(FACTS, event) ? FACTS[event] : undefined;
        return read === undefined ? [] : [read(data)];
      }
    }
  }

  #delta(type: 'text' | 'thinking', text: string): readonly PodFact[] {
    const begins = this.#open !== type;
    if (begins) this.#index += 1;
    this.#open = type;
    const index = this.#index;
    return [
      ...(begins ? [{ type: 'block-start', index, blockType: type } as const] : []),
      { type: 'block-delta', index, delta: { type, text } },
    ];
  }

  #stop(): readonly PodFact[] {
    const open = this.#open;
    this.#open = undefined;
    return open === undefined ? [] : [{ type: 'block-stop', index: this.#index, blockType: open }];
  }

  #abort(reason: string): readonly PodFact[] {
    const blockType = this.#open ?? 'tool-use';
    this.#open = undefined;
    return [{ type: 'block-abort', index: this.#index, blockType, reason }];
  }

  #toolEnd(data: JsonObject): PodFact {
    const callId = stringOf(data.id);
    const isError = data.is_error === true;
    const status = oneOf(STATUSES, data.status) ?? (isError ? 'failed' : 'done');
    const text = stringOf(data.output);
    const output = {
      summary: text.split('\n', 1)[0] ?? '',
      content: [{ type: 'text', text } as const],
      isError,
    };
    return { type: 'tool-end', callId, name: this.#names.get(callId) ?? '', status, output };
  }
}

const STATUSES: readonly CallStatus[] = ['done', 'failed', 'denied', 'skipped', 'interrupted'];

import type { PodEvent } from '../../../src/pod/index.ts';
import { type DoorLine, deltaLine, doorLine } from '../door-line.ts';
import { textIn } from './pod.ts';

/** The numbered updates for a log, for an editor that shows these prompts itself. */
export function expectedAcpLines(log: readonly PodEvent[], own: ReadonlySet<string>): readonly DoorLine[] {
  const encoder = new AcpEncoder(own);
  for (const event of log) encoder.encode(event);
  return encoder.lines;
}

class AcpEncoder {
  readonly lines: DoorLine[] = [];
  readonly #own: ReadonlySet<string>;
  #seq = 0;
  readonly #blocks = new Map<number, { readonly type: string; readonly id: string }>();
  /** The calls that were announced and not closed. */
  readonly #open = new Set<string>();
  /** The calls of pending approvals, by approval. */
  readonly #asked = new Map<string, string>();

  constructor(own: ReadonlySet<string>) {
    this.#own = own;
  }

  encode(event: PodEvent): void {
    this.#seq = event.seq;
    switch (event.type) {
      case 'input': {
        const isPrompt = ['prompt', 'steer', 'follow-up'].includes(event.origin);
        if (event.item.type !== 'message' || event.item.role !== 'user' || !isPrompt) return;
        const text = textIn(event.item.content);
        if (event.door === 'acp' && this.#own.has(text)) return;
        return this.#add('user_message_chunk', { text });
      }
      case 'block-start': {
        const id = event.blockType === 'tool-use' ? event.id : '';
        this.#blocks.set(event.index, { type: event.blockType, id });
        if (event.blockType === 'tool-use') this.#announce(id, event.name);
        return;
      }
      case 'block-delta': {
        const { type } = this.#blocks.get(event.index) ?? {};
        const name = type === 'thinking' ? 'agent_thought_chunk' : 'agent_message_chunk';
        if (event.delta.type !== 'input-json') this.lines.push(deltaLine(this.#seq, name, event.delta.text));
        return;
      }
      case 'block-stop':
        this.#blocks.delete(event.index);
        if (event.blockType === 'tool-use') this.#update(event.id);
        return;
      case 'block-abort':
        return this.#drop(event.index);
      case 'turn-start':
      case 'retry-start':
        for (const index of [...this.#blocks.keys()]) this.#drop(index);
        return;
      case 'tool-start':
        this.#announce(event.call.callId, event.call.name);
        return this.#update(event.call.callId, 'in_progress');
      case 'tool-update':
        return this.#update(event.callId, undefined, event.text);
      case 'tool-end':
        this.#announce(event.callId, event.name);
        return this.#close(
          event.callId,
          event.status === 'done' ? 'completed' : 'failed',
          textIn(event.output.content),
        );
      case 'turn-end':
        for (const item of event.results)
          if (item.type === 'tool-result' && this.#open.has(item.callId))
            this.#close(item.callId, 'failed', textIn(item.content));
        return;
      case 'run-end':
        this.#blocks.clear();
        // If a call of a killed turn waits for an approval, all its calls are still open for a client that loads the session.
        if (
          event.outcome.status === 'interrupted' &&
          [...this.#asked.values()].some((id) => this.#open.has(id))
        )
          return;
        if (event.outcome.status !== 'paused')
          for (const id of [...this.#open]) this.#close(id, 'failed', undefined);
        return;
      case 'approval-request':
        if (event.approval.callId !== undefined)
          this.#asked.set(event.approval.approvalId, event.approval.callId);
        return;
      case 'approval-response':
        this.#asked.delete(event.approvalId);
        return;
      default:
    }
  }

  #announce(id: string, name: string): void {
    if (this.#open.has(id)) return;
    this.#open.add(id);
    this.#add('tool_call', { id, name, status: 'pending' });
  }

  #drop(index: number): void {
    const { id = '' } = this.#blocks.get(index) ?? {};
    this.#blocks.delete(index);
    if (this.#open.has(id)) this.#close(id, 'failed', undefined);
  }

  #close(id: string, status: string, text: string | undefined): void {
    this.#open.delete(id);
    this.#update(id, status, text);
  }

  #update(id: string, status?: string, text?: string): void {
    this.#add('tool_call_update', { id, status, text });
  }

  #add(name: string, fields: Readonly<Record<string, unknown>>): void {
    this.lines.push(doorLine(this.#seq, name, fields));
  }
}

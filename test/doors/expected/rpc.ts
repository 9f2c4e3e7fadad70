import type { PodEvent } from '../../../src/pod/index.ts';
import { type DoorLine, doorLine, deltaLine } from '../door-line.ts';
import { textIn } from './pod.ts';

/**
 * The lines of RPC mode for a log, for a host that joined after a number, by the page and the seed. A host that joins in the
 * middle of a run receives complete objects: start events come with the first event of a loop, a turn or a message.
 */
export function expectedRpcLines(log: readonly PodEvent[], joinedAfter: number): readonly DoorLine[] {
  const encoder = new RpcEncoder();
  for (const event of log) if (event.seq > joinedAfter) encoder.encode(event);
  return encoder.lines;
}

interface Shown {
  readonly kind: 'text' | 'thinking' | 'toolcall';
  readonly at: number;
  readonly id: string;
  text: string;
}

class RpcEncoder {
  readonly lines: DoorLine[] = [];
  #seq = 0;
  /** Roles of the messages of the loop; undefined outside of one. */
  #loop: string[] | undefined;
  #isTurnOpen = false;
  #isAnswering = false;
  #wasAborted = false;
  #stop = 'stop';
  #results: string[] = [];
  #outcome: string | undefined;
  /** Whether a retry produced an answer; sent once that has ended. */
  #retried: boolean | undefined;
  /** No retry is pending: the end of the answer has been sent. */
  #isGivenUp = false;
  readonly #blocks = new Map<number, Shown>();

  encode(event: PodEvent): void {
    this.#seq = event.seq;
    switch (event.type) {
      case 'run-start':
        return this.#openLoop();
      case 'input':
        return this.#input(event);
      case 'turn-start':
        return this.#openTurn();
      case 'status':
        if (event.status === 'started') this.#beginAnswer();
        if (event.status === 'completed') this.#stop = STOPS[event.stopReason] ?? 'stop';
        return;
      case 'error':
        return this.#beginAnswer();
      case 'block-start':
      case 'block-delta':
      case 'block-stop':
        return this.#block(event);
      case 'llm-end':
        return this.#endAnswer(event);
      case 'tool-start':
        this.#openTurn();
        return this.#add('tool_execution_start', { id: event.call.callId, name: event.call.name });
      case 'tool-update':
        return this.#add('tool_execution_update', { id: event.callId, text: event.text });
      case 'tool-end': {
        const text = textIn(event.output.content);
        const { callId: id, name } = event;
        this.#add('tool_execution_end', { id, name, text, isError: event.output.isError });
        this.#results.push(id);
        return this.#addMessage('toolResult', { role: 'toolResult', id, text });
      }
      case 'turn-end':
        return this.#endTurn(
          event.results.flatMap((item) => (item.type === 'tool-result' ? [item.callId] : [])),
        );
      case 'retry-start':
        return this.#retry();
      case 'retry-end':
        this.#isGivenUp = !event.success && this.#loop === undefined;
        this.#retried = event.success;
        return this.#isGivenUp ? this.#sayRetried() : undefined;
      case 'run-end':
        return this.#endRun(event.outcome.status);
      case 'state':
        if (this.#outcome === undefined || event.state === 'running' || event.state === 'waiting') return;
        this.#add('agent_settled', { aborted: this.#outcome === 'cancelled' });
        this.#outcome = undefined;
        return;
      default:
    }
  }

  #openLoop(): void {
    if (this.#loop !== undefined) return;
    this.#loop = [];
    this.#add('agent_start');
  }

  #openTurn(): void {
    this.#openLoop();
    if (this.#isTurnOpen) return;
    this.#isTurnOpen = true;
    this.#wasAborted = false;
    this.#results = [];
    this.#add('turn_start');
  }

  #input({ item, origin }: Extract<PodEvent, { type: 'input' }>): void {
    if (item.type !== 'message' || item.role === 'assistant' || origin === 'shell') return;
    this.#openTurn();
    this.#addMessage('user', { role: 'user', text: textIn(item.content) });
  }

  #addMessage(role: string, message: Readonly<Record<string, unknown>>): void {
    this.#add('message_start', { role });
    this.#add('message_end', message);
    this.#loop?.push(role);
  }

  #beginAnswer(): void {
    if (this.#isAnswering) return;
    this.#openTurn();
    this.#isAnswering = true;
    this.#stop = 'stop';
    this.#blocks.clear();
    this.#add('message_start', { role: 'assistant' });
  }

  #block(event: Extract<PodEvent, { type: 'block-start' | 'block-delta' | 'block-stop' }>): void {
    if (event.type === 'block-start') {
      this.#beginAnswer();
      const kind = KINDS[event.blockType];
      if (kind === undefined) return;
      const id = event.blockType === 'tool-use' ? event.id : '';
      const shown: Shown = { kind, at: this.#blocks.size, id, text: '' };
      this.#blocks.set(event.index, shown);
      return this.#add(`message_update ${kind}_start ${shown.at}`);
    }
    const block = this.#blocks.get(event.index);
    // Of a block that started before the host joined, only the complete message is sent.
    if (block === undefined) return;
    const { kind, at, id } = block;
    if (event.type === 'block-delta') {
      const text = event.delta.type === 'input-json' ? event.delta.json : event.delta.text;
      block.text += text;
      this.lines.push(deltaLine(this.#seq, `message_update ${kind}_delta ${at}`, text));
      return;
    }
    this.#add(`message_update ${kind}_end ${at}`, kind === 'toolcall' ? { id } : { content: block.text });
  }

  #endAnswer({ outcome, items, broken }: Extract<PodEvent, { type: 'llm-end' }>): void {
    if (this.#isGivenUp) return;
    this.#beginAnswer();
    if (outcome !== 'completed') return this.#breakAnswer(outcome, broken);
    const text = items.flatMap((item) => (item.type === 'message' ? [textIn(item.content)] : [])).join('\n');
    const calls = items.flatMap((item) => (item.type === 'tool-call' ? [item.callId] : []));
    this.#finish(text, calls, calls.length > 0 ? 'toolUse' : this.#stop);
    if (this.#retried === true) this.#sayRetried();
  }

  /** A failed attempt ends its loop; the next one starts another. */
  #retry(): void {
    this.#beginAnswer();
    this.#breakAnswer('failed');
    this.#endTurn([]);
    this.#retried = undefined;
    this.#endLoop();
    this.#add('auto_retry_start');
  }

  #endLoop(): void {
    if (this.#loop === undefined) return;
    this.#add('agent_end', { messages: this.#loop });
    this.#loop = undefined;
    this.#isTurnOpen = false;
    this.#sayRetried();
  }

  #sayRetried(): void {
    if (this.#retried !== undefined) this.#add('auto_retry_end', { success: this.#retried });
    this.#retried = undefined;
  }

  /** The kept part of an interrupted answer is shown; its calls do not run, and are omitted. */
  #breakAnswer(
    outcome: 'cancelled' | 'failed',
    broken?: Extract<PodEvent, { type: 'llm-end' }>['broken'],
  ): void {
    const keptTexts = broken?.flatMap((item) => (item.type === 'message' ? [textIn(item.content)] : []));
    const seen = [...this.#blocks.values()].flatMap(({ kind, text }) =>
      kind === 'text' && text !== '' ? [text] : [],
    );
    this.#wasAborted = outcome === 'cancelled';
    this.#finish((keptTexts ?? seen).join('\n'), [], outcome === 'cancelled' ? 'aborted' : 'error');
  }

  #finish(text: string, calls: readonly string[], stopReason: string): void {
    this.#isAnswering = false;
    this.#loop?.push('assistant');
    this.#add('message_end', { role: 'assistant', text, calls, stopReason });
  }

  #endTurn(results: readonly string[]): void {
    if (!this.#isTurnOpen || this.#isGivenUp) return;
    this.#isTurnOpen = false;
    const all = [...this.#results, ...results.filter((id) => !this.#results.includes(id))];
    this.#add('turn_end', { results: all });
  }

  #endRun(status: string): void {
    // Hosts look for an aborted answer; if none was streaming, an empty one is sent.
    if (status === 'cancelled' && this.#loop !== undefined && !this.#wasAborted) {
      this.#beginAnswer();
      this.#breakAnswer('cancelled');
      this.#endTurn([]);
    }
    this.#endLoop();
    this.#isGivenUp = false;
    this.#outcome = status;
  }

  #add(name: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.lines.push(doorLine(this.#seq, name, fields));
  }
}

const KINDS: Readonly<Record<string, Shown['kind']>> = {
  text: 'text',
  thinking: 'thinking',
  'tool-use': 'toolcall',
};
const STOPS: Readonly<Record<string, string>> = { 'max-tokens': 'length', 'tool-use': 'toolUse' };

import type { Item } from '../../../src/llm/index.ts';
import type { PodEvent } from '../../../src/pod/index.ts';
import { type DoorLine, doorLine } from '../door-line.ts';
import { textIn } from './pod.ts';

/**
 * The lines that a subscriber of the HLD door receives for a log, by the page and the seed: statuses, complete rows of the
 * conversation, approvals. The protocol has no deltas, call starts, queues and turns.
 */
export function expectedHldLines(log: readonly PodEvent[]): readonly DoorLine[] {
  const encoder = new HldEncoder();
  for (const event of log) encoder.encode(event);
  return encoder.lines;
}

/** The five statuses of the protocol, and the additional `detail`. */
const STATUSES = ['starting', 'running', 'waiting_input', 'completed', 'failed'] as const;
const DETAILS: Readonly<Record<string, (typeof STATUSES)[number]>> = {
  interrupting: 'running',
  interrupted: 'completed',
  paused: 'waiting_input',
};

/** The row after an answer that a person interrupted. */
export const INTERRUPTED = '[Request interrupted by user]';

export function isStatus(word: unknown): boolean {
  return STATUSES.some((status) => status === word);
}

class HldEncoder {
  readonly lines: DoorLine[] = [];
  #seq = 0;
  #state = 'idle';
  #run: { isOpen: boolean; outcome: string } | undefined;
  #isInterrupted = false;
  #isPrompted = false;
  readonly #approvals = new Set<string>();
  readonly #answered = new Set<string>();

  encode(event: PodEvent): void {
    this.#seq = event.seq;
    this.#tellOf(event);
    const before = this.#phase();
    this.#take(event);
    const after = this.#phase();
    if (after === before) return;
    const old = DETAILS[before] ?? before;
    const now = DETAILS[after];
    this.#add('session_status_changed', { old, new: now ?? after, ...(now && { detail: after }) });
  }

  #tellOf(event: PodEvent): void {
    switch (event.type) {
      case 'input':
        // The client that launched the session knows its first prompt.
        if (this.#isPrompted) this.#rows([event.item]);
        return;
      case 'llm-end':
        if (event.usage !== undefined && event.outcome === 'completed')
          this.#add('session_status_changed', { reason: 'token_update' });
        return this.#rows(event.items);
      case 'tool-end':
        return this.#row('tool_result', { id: event.callId, content: textIn(event.output.content) });
      case 'turn-end':
        return this.#rows(
          event.results.filter((item) => item.type !== 'tool-result' || !this.#answered.has(item.callId)),
        );
      case 'compaction-end':
        if (event.result.status === 'compacted') this.#row('system', { content: event.result.summary });
        return;
      case 'approval-request':
        return this.#add('new_approval', {
          approval_id: `local-${event.approval.approvalId}`,
          tool_name: event.approval.tool,
        });
      case 'approval-response':
        return this.#add('approval_resolved', {
          approval_id: `local-${event.approvalId}`,
          approved: event.status === 'approved',
          response_text: event.comment ?? '',
        });
      default:
    }
  }

  #take(event: PodEvent): void {
    switch (event.type) {
      case 'state':
        this.#state = event.state;
        if (event.state === 'idle') this.#isInterrupted = false;
        return;
      case 'run-start':
        this.#isInterrupted = false;
        this.#run = { isOpen: true, outcome: '' };
        return;
      case 'run-end':
        this.#run = { isOpen: false, outcome: event.outcome.status };
        return;
      case 'input':
        this.#isPrompted = true;
        return;
      case 'turn-start':
        this.#answered.clear();
        return;
      case 'tool-end':
        this.#answered.add(event.callId);
        return;
      case 'approval-request':
        this.#approvals.add(event.approval.approvalId);
        return;
      case 'approval-response':
        this.#approvals.delete(event.approvalId);
        return;
      case 'commanded':
        if (event.command === 'cancel' && this.#state !== 'idle') this.#isInterrupted = true;
        return;
      default:
    }
  }

  #phase(): string {
    if (this.#state === 'running' || this.#state === 'waiting' || this.#run?.isOpen === true) {
      if (this.#isInterrupted) return 'interrupting';
      return this.#state === 'waiting' || this.#approvals.size > 0 ? 'waiting_input' : 'running';
    }
    if (this.#state === 'paused') return this.#approvals.size > 0 ? 'waiting_input' : 'paused';
    if (this.#run === undefined) return 'starting';
    if (this.#run.outcome === 'finished') return 'completed';
    return this.#run.outcome === 'cancelled' ? 'interrupted' : 'failed';
  }

  #rows(items: readonly Item[]): void {
    for (const item of items) {
      if (item.type === 'message') {
        const content = textIn(item.content);
        if (content !== '' || item.role !== 'assistant') this.#row('message', { role: item.role, content });
        if (item.interrupted === true) this.#row('message', { role: 'user', content: INTERRUPTED });
      }
      if (item.type === 'reasoning' && item.text !== '') this.#row('thinking', { content: item.text });
      if (item.type === 'tool-call') this.#row('tool_call', { id: item.callId, name: item.name });
      if (item.type === 'tool-result')
        this.#row('tool_result', { id: item.callId, content: textIn(item.content) });
    }
  }

  #row(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.#add('conversation_updated', { type, ...fields });
  }

  #add(name: string, fields: Readonly<Record<string, unknown>>): void {
    this.lines.push(doorLine(this.#seq, name, fields));
  }
}

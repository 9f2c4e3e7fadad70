import type { Content } from '../../../src/llm/index.ts';
import type { PodEvent } from '../../../src/pod/index.ts';
import { type DoorLine, doorLine, deltaLine } from '../door-line.ts';

/**
 * The lines of the Pod Protocol for a log, written from its page and the seed, not from the door. `plain` is a connection without
 * a subscription: fourteen events, six codes. The tasks door sends the lines of an extended connection.
 */
export function expectedPodLines(log: readonly PodEvent[], kind: 'plain' | 'extended'): readonly DoorLine[] {
  const encoder = new PodEncoder(kind === 'extended');
  for (const event of log) encoder.encode(event);
  return encoder.lines;
}

/** The lines of one task's stream: that it is queued, and its run from start to end, also across a restart. */
export function expectedTaskLines(log: readonly PodEvent[], taskId: string): readonly DoorLine[] {
  const queued = log.find((event) => event.type === 'queued' && event.taskId === taskId);
  const starts = log.filter((event) => event.type === 'run-start' && event.taskId === taskId);
  const runIds = new Set(starts.map((event) => (event.type === 'run-start' ? event.runId : '')));
  const first = starts[0]?.seq ?? Infinity;
  const last = log.findLast((event) => event.type === 'run-end' && runIds.has(event.runId))?.seq ?? 0;
  return expectedPodLines(log, 'extended').filter(
    ({ seq }) => seq === queued?.seq || (seq >= first && seq <= last),
  );
}

interface Block {
  readonly type: string;
  readonly id: string;
  text: string;
}

class PodEncoder {
  readonly lines: DoorLine[] = [];
  readonly #isExtended: boolean;
  readonly #blocks = new Map<number, Block>();
  readonly #answered = new Set<string>();
  #turn = 0;
  /** The end of a turn waits for the first call to start, or for all calls to be decided. */
  #turnState: 'over' | 'answering' | 'calls-undecided' = 'over';
  #seq = 0;

  constructor(isExtended: boolean) {
    this.#isExtended = isExtended;
  }

  encode(event: PodEvent): void {
    this.#seq = event.seq;
    switch (event.type) {
      case 'turn-start':
        this.#turn = event.turn;
        this.#turnState = 'answering';
        this.#blocks.clear();
        this.#answered.clear();
        return this.#all('turn_start', { turn: event.turn });
      case 'block-start':
      case 'block-delta':
      case 'block-stop':
      case 'block-abort':
        return this.#block(event);
      case 'usage': {
        const { inputTokens: input_tokens, outputTokens: output_tokens } = event;
        return this.#all('usage', { input_tokens, output_tokens });
      }
      case 'llm-end': {
        const hasCalls =
          event.outcome === 'completed' && event.items.some(({ type }) => type === 'tool-call');
        if (hasCalls) this.#turnState = 'calls-undecided';
        else this.#endTurn(event.outcome === 'completed' ? 'finished' : event.outcome);
        return;
      }
      case 'tool-start':
        this.#callsDecided('finished');
        return this.#extra('tool_start', { id: event.call.callId, name: event.call.name });
      case 'tool-update':
        return this.#extra('tool_update', { id: event.callId, text: event.text });
      case 'tool-end':
        this.#answered.add(event.callId);
        return this.#result(event.callId, event.output.content, event.output.isError);
      case 'turn-end':
        this.#callsDecided('finished');
        this.#turnState = 'over';
        for (const item of event.results)
          if (item.type === 'tool-result' && !this.#answered.has(item.callId))
            this.#result(item.callId, item.content, item.isError);
        return;
      case 'run-end':
        return this.#endRun(event);
      case 'commanded':
        this.#extra('commanded', { command: event.command });
        if (event.command === 'cancel') this.#callsDecided('cancelled');
        return;
      case 'state': {
        const state = event.state === 'waiting' ? 'paused' : event.state;
        return this.#all('status', this.#isExtended ? { state, detail: event.state } : { state });
      }
      default:
        return this.#rest(event);
    }
  }

  /** Events that only an extended connection receives. */
  #rest(event: PodEvent): void {
    switch (event.type) {
      case 'run-start':
        return this.#extra('run_start', { run_id: event.runId });
      case 'input':
        if (event.item.type !== 'message' || event.item.role !== 'user') return;
        return this.#extra('user_message', {
          text: textIn(event.item.content),
          origin: event.origin.replace('-', '_'),
        });
      case 'queued':
        return this.#extra('queued', {
          queue_id: event.queueId,
          lane: event.lane.replace('-', '_'),
          text: textIn(event.content),
        });
      case 'unqueued':
        return this.#extra('unqueued', { queue_ids: event.queueIds });
      case 'approval-request': {
        const { approvalId, tool, arguments: json, callId } = event.approval;
        return this.#extra('approval_request', {
          approval_id: approvalId,
          tool,
          arguments: json,
          call_id: callId,
        });
      }
      case 'approval-response':
        return this.#extra('approval_resolved', {
          approval_id: event.approvalId,
          status: event.status,
          comment: event.comment,
        });
      case 'retry-start':
        return this.#extra('retry', { attempt: event.attempt });
      case 'retry-end':
        return this.#extra('retry_end', { attempt: event.attempt, success: event.success });
      case 'recovered':
        return this.#extra('recovered', { lost: event.lost });
      case 'settings':
      case 'todos':
      case 'branched':
      case 'closed':
        return this.#extra(event.type);
      case 'compaction-start':
      case 'compaction-end':
        return this.#extra(event.type === 'compaction-start' ? 'compact_start' : 'compact_end', {
          reason: event.reason,
        });
      case 'shell-start':
      case 'shell-update':
      case 'shell-end':
        return this.#extra(event.type.replace('-', '_'), { shell_id: event.shellId });
      case 'client-call':
      case 'client-cancel':
        return this.#extra(event.type.replace('-', '_'), { call_id: event.callId });
      default:
    }
  }

  #block(event: Extract<PodEvent, { type: `block-${string}` }>): void {
    const block = this.#blocks.get(event.index);
    if (event.type === 'block-start') {
      const id = event.blockType === 'tool-use' ? event.id : '';
      this.#blocks.set(event.index, { type: event.blockType, id, text: '' });
      if (event.blockType === 'tool-use') this.#all('tool_call_start', { id, name: event.name });
      return;
    }
    if (block === undefined) return;
    if (event.type === 'block-delta') {
      const { delta } = event;
      const text = delta.type === 'input-json' ? delta.json : delta.text;
      block.text += text;
      const name = PIECES[block.type];
      if (name !== undefined) this.lines.push(deltaLine(this.#seq, `${name} ${block.id}`.trim(), text));
      return;
    }
    this.#blocks.delete(event.index);
    if (event.type === 'block-abort') return this.#abort(block);
    if (block.type === 'text' || block.type === 'thinking')
      this.#all(`${block.type}_done`, { text: block.text });
    if (event.blockType === 'tool-use')
      this.#all('tool_call_done', { id: event.id, name: event.name, arguments: block.text.trim() || '{}' });
  }

  #abort({ type, id }: Block): void {
    if (type === 'tool-use') this.#extra('block_aborted', { type: 'tool_call', id });
    if (type === 'text' || type === 'thinking') this.#extra('block_aborted', { type });
  }

  #endRun({ outcome, runId }: Extract<PodEvent, { type: 'run-end' }>): void {
    for (const block of this.#blocks.values()) this.#abort(block);
    this.#blocks.clear();
    const { status } = outcome;
    if (this.#turnState === 'calls-undecided' && (status === 'interrupted' || status === 'limited'))
      this.#endTurn('paused');
    else if (this.#turnState !== 'over') this.#endTurn(status === 'limited' ? 'finished' : status);
    if (status === 'failed') this.#all('error', { code: 'provider_error' });
    else if ((status === 'limited' || status === 'interrupted') && !this.#isExtended)
      this.#all('error', { code: 'internal' });
    this.#extra('run_end', { run_id: runId, result: status });
  }

  #callsDecided(result: string): void {
    if (this.#turnState === 'calls-undecided') this.#endTurn(result);
  }

  /** A plain connection has two stop reasons. */
  #endTurn(result: string): void {
    this.#turnState = 'over';
    const isKnown = this.#isExtended || result === 'paused';
    this.#all('turn_end', { turn: this.#turn, result: isKnown ? result : 'finished' });
  }

  #result(id: string, content: readonly Content[], isError: boolean): void {
    this.#all('tool_result', { id, output: textIn(content), is_error: isError });
  }

  #all(name: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.lines.push(doorLine(this.#seq, name, fields));
  }

  #extra(name: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.#isExtended) this.#all(name, fields);
  }
}

const PIECES: Readonly<Record<string, string>> = {
  text: 'text_delta',
  thinking: 'thinking_delta',
  'tool-use': 'tool_call_args_delta',
};

/** The text parts of a content, joined as the protocols join them. */
export function textIn(content: readonly Content[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

import type { PodEvent, PodState, Snapshot, PodEventOf } from '../../../pod/index.ts';
import type { StatusInput } from './status.ts';

type BlockStart = PodEventOf<'block-start'>;

export interface OpenBlock {
  readonly head: BlockStart | Snapshot['blocks'][number];
  readonly pieces: string[];
}

/**
 * The state that encoding the next event needs: a delta of a call carries the call's id, the end of a block its complete text, and the end
 * of a turn is delayed until its calls are decided. A new turn resets it, so the events since the last start of a turn are enough to
 * restore it.
 */
export class ProjectionState {
  readonly podId: string;
  /** The number of the last event that was applied. */
  seq: number;
  state: PodState;
  name: string | undefined;
  turn: number;
  /** The phase of the turn: `answering` until the model's answer is complete, `held` until its calls are decided. */
  phase: 'over' | 'answering' | 'held' = 'over';
  readonly blocks = new Map<number, OpenBlock>();
  /** Calls of the turn whose results were sent. */
  readonly answered = new Set<string>();
  /** Queued prompts: the pod starts their runs itself when it is idle. */
  readonly #waiting = new Set<string>();

  constructor({
    podId,
    seq,
    state,
    name,
    turn,
  }: StatusInput & { readonly seq: number; readonly turn: number }) {
    this.podId = podId;
    this.seq = seq;
    this.state = state;
    this.name = name;
    this.turn = turn;
  }

  /** Created from a snapshot. Of the current turn, it contains only what the snapshot has. */
  static of({ id, seq, state, settings, turn, run, blocks, queue }: Snapshot): ProjectionState {
    const projection = new ProjectionState({ podId: id, seq, state, name: settings.name, turn });
    for (const { lane, queueId } of queue) if (lane === 'prompt') projection.#waiting.add(queueId);
    if (run === undefined) return projection;
    for (const block of blocks)
      if (block.open) projection.blocks.set(block.index, { head: block, pieces: [block.text] });
    if (blocks.length > 0) projection.phase = 'answering';
    else if (state === 'waiting') projection.phase = 'held';
    return projection;
  }

  /** Whether nothing runs or starts until the next command. */
  get isQuiet(): boolean {
    return this.state === 'paused' || (this.state === 'idle' && this.#waiting.size === 0);
  }

  /** Restores the state of the current turn from its events. */
  replayTurn(turn: readonly PodEvent[]): void {
    this.phase = 'over';
    this.blocks.clear();
    this.answered.clear();
    for (const event of turn) this.apply(event);
  }

  /** Applies an event. There are tens of thousands of deltas: their cost must not depend on earlier events. */
  apply(event: PodEvent): void {
    this.seq = event.seq;
    switch (event.type) {
      case 'block-start':
        this.blocks.set(event.index, { head: event, pieces: [] });
        return;
      case 'block-delta': {
        const { delta } = event;
        this.blocks.get(event.index)?.pieces.push(delta.type === 'input-json' ? delta.json : delta.text);
        return;
      }
      case 'block-stop':
      case 'block-abort':
        this.blocks.delete(event.index);
        return;
      case 'turn-start':
        this.turn = event.turn;
        this.phase = 'answering';
        this.blocks.clear();
        this.answered.clear();
        return;
      case 'llm-end':
        this.phase = isHeld(event) ? 'held' : 'over';
        return;
      case 'tool-start':
      case 'turn-end':
        this.phase = 'over';
        return;
      case 'commanded':
        if (event.command === 'cancel' && this.phase === 'held') this.phase = 'over';
        return;
      case 'tool-end':
        this.answered.add(event.callId);
        return;
      case 'run-end':
        this.phase = 'over';
        this.blocks.clear();
        return;
      case 'state':
        this.state = event.state;
        return;
      case 'queued':
        if (event.lane === 'prompt') this.#waiting.add(event.queueId);
        return;
      case 'unqueued':
        for (const queueId of event.queueIds) this.#waiting.delete(queueId);
        return;
      case 'input':
        if (event.queueId !== undefined) this.#waiting.delete(event.queueId);
        return;
      case 'settings':
        this.name = event.settings.name;
        return;
      default:
        return;
    }
  }
}

/** Whether the end of the turn is delayed: the model requested calls that are not decided yet. */
export function isHeld({ outcome, items }: PodEventOf<'llm-end'>): boolean {
  return outcome === 'completed' && items.some(({ type }) => type === 'tool-call');
}

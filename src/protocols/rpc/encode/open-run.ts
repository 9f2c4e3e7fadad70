import {
  NO_TOTALS,
  type PodEvent,
  type PodFact,
  type Snapshot,
  type PodEventOf,
} from '../../../pod/index.ts';

/**
 * Tracks the parts of a run that have started and not ended. If the events stop because the session can no longer be written, the client is
 * sent the end events that the pod could not publish.
 */
export class OpenRun {
  #runId: string | undefined;
  #turn = 0;
  /** The phase of the current turn. */
  #phase: 'none' | 'before the answer' | 'answer' | 'calls' = 'none';
  /** The names of the running calls. */
  readonly #calls = new Map<string, string>();
  readonly #clientCalls = new Set<string>();
  #retry: number | undefined;
  #compaction: PodEventOf<'compaction-start'>['reason'] | undefined;
  #isBrokenOff = false;

  /** Joins a run in progress. */
  join({ run, turn, tools }: Snapshot): void {
    this.#reset(run?.runId);
    this.#turn = turn;
    for (const { call } of tools) this.#calls.set(call.callId, call.name);
  }

  /** Whether to send the event to the client: after the end of a run was sent, nothing more of it is. */
  take(event: PodEvent): boolean {
    switch (event.type) {
      case 'run-start':
        this.#reset(event.runId);
        break;
      case 'run-end':
        this.#runId = undefined;
        break;
      case 'turn-start':
        [this.#turn, this.#phase] = [event.turn, 'before the answer'];
        break;
      case 'status':
        if (event.status === 'started') this.#phase = 'answer';
        break;
      case 'llm-end':
        this.#phase = 'calls';
        break;
      case 'turn-end':
        this.#phase = 'none';
        break;
      case 'tool-start':
        this.#calls.set(event.call.callId, event.call.name);
        break;
      case 'tool-end':
        this.#calls.delete(event.callId);
        this.#clientCalls.delete(event.callId);
        break;
      case 'client-call':
        this.#clientCalls.add(event.callId);
        break;
      case 'retry-start':
        [this.#retry, this.#phase] = [event.attempt, 'none'];
        break;
      case 'retry-end':
        this.#retry = undefined;
        break;
      case 'compaction-start':
        this.#compaction = event.reason;
        break;
      case 'compaction-end':
        this.#compaction = undefined;
        break;
      default:
    }
    return !this.#isBrokenOff;
  }

  /** Closes everything that is open, as if the run had failed with this message; empty if no run is open. */
  breakOff(message: string, seq: number): readonly PodEvent[] {
    const runId = this.#runId;
    if (runId === undefined) return [];
    this.#runId = undefined;
    this.#isBrokenOff = true;
    return this.#ends(runId, message).map((fact) => ({ seq, ...fact }));
  }

  #ends(runId: string, message: string): readonly PodFact[] {
    const failure = { kind: 'cut-off', message } as const;
    const turn = this.#turn;
    const turnEnd: PodFact = { type: 'turn-end', turn, results: [] };
    const attempt = this.#retry;
    const reason = this.#compaction;
    return [
      ...[...this.#clientCalls].map((callId): PodFact => ({ type: 'client-cancel', callId })),
      ...[...this.#calls].map(([callId, name]): PodFact => {
        const output = {
          summary: message,
          content: [{ type: 'text', text: message }],
          isError: true,
        } as const;
        return { type: 'tool-end', callId, name, status: 'interrupted', output };
      }),
      // The answer that reports the failure has its own turn, as if another request had failed.
      ...(this.#phase === 'calls' ? [turnEnd] : []),
      ...(reason === undefined
        ? []
        : [{ type: 'compaction-end', reason, result: { status: 'failed', failure } } as const]),
      { type: 'turn-start', turn },
      ...(attempt === undefined ? [] : [{ type: 'retry-end', attempt, success: false, failure } as const]),
      { type: 'error', ...failure },
      { type: 'llm-end', turn, outcome: 'failed', items: [] },
      turnEnd,
      { type: 'run-end', runId, outcome: { status: 'failed', failure }, totals: NO_TOTALS },
      { type: 'state', state: 'idle' },
    ];
  }

  #reset(runId: string | undefined): void {
    this.#runId = runId;
    this.#phase = 'none';
    this.#calls.clear();
    this.#clientCalls.clear();
    this.#retry = undefined;
    this.#compaction = undefined;
    this.#isBrokenOff = false;
  }
}

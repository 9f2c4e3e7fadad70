import type { JsonObject } from '../../../base/index.ts';
import {
  type AnswerDetails,
  fileStopReason,
  type OfferedModel,
  type PodEvent,
  type PodEventOf,
} from '../../../pod/index.ts';
import { TODO_REMINDER } from '../../../reminders/index.ts';
import { TEXTS } from '../errors.ts';
import { splitMentions } from './file-mentions.ts';
import { GrowingMessage } from './growing-message.ts';
import type { MessageUpdates } from './message-updates.ts';
import {
  answerFrame,
  argumentsFrame,
  brokenFrame,
  customFrame,
  inputFrame,
  resultFrame,
  toolResultFrame,
} from './messages.ts';
import type { RpcCompaction, RpcEvent, RpcMessage, RpcToolResult } from '../wire.ts';

type Outcome = PodEventOf<'run-end'>['outcome'];

/** What the encoder needs from the rest of the link. */
export interface EncoderParts {
  readonly send: (event: RpcEvent) => void;
  readonly updates: MessageUpdates;
  readonly now: () => number;
  /** The model of the current answer. */
  readonly model: () => OfferedModel;
  /** Results of host tools, which are sent to the client unchanged. */
  readonly hostTools: {
    readonly partialOf: (callId: string) => RpcToolResult | undefined;
    readonly takeResult: (callId: string) => RpcToolResult | undefined;
  };
  /** Called when a run has ended. Starts the next run if it needs no prompt from a person, and returns whether it did. */
  readonly startsNextRun: (outcome: Outcome) => boolean;
}

/**
 * Encodes a pod's events as events of the protocol, in its order. The protocol has loops instead of runs: a failed attempt ends a loop, and
 * the next attempt starts another one.
 */
export class EventEncoder {
  readonly #parts: EncoderParts;
  /** The messages of the current loop. */
  #loop: RpcMessage[] | undefined;
  #isTurnOpen = false;
  #growing: GrowingMessage | undefined;
  #answer: RpcMessage | undefined;
  #results: RpcMessage[] = [];
  readonly #calls = new Map<string, { readonly name: string; readonly args: JsonObject }>();
  #stopReason: Extract<PodEventOf<'status'>, { status: 'completed' }>['stopReason'] | undefined;
  #error = '';
  #retryEnd: Extract<RpcEvent, { type: 'auto_retry_end' }> | undefined;
  /** The wait for the next attempt was cancelled: the later end events have already been sent. */
  #isGivenUp = false;
  #outcome: Outcome | undefined;

  constructor(parts: EncoderParts) {
    this.#parts = parts;
  }

  /** `compaction` is the compaction that has ended, from the session file. */
  encode(event: PodEvent, compaction?: RpcCompaction): void {
    if (event.type === 'block-delta') this.#delta(event);
    else if (event.type === 'compaction-end') this.#compacted(event, compaction);
    else this.#encodeOther(event);
  }

  #encodeOther<T extends PodEvent['type']>(event: PodEventOf<T> & { readonly type: T }): void {
    const encode: ((event: PodEventOf<T>) => void) | undefined = this.#table[event.type];
    encode?.(event);
  }

  /** An entry for every event type; undefined if the protocol has no such event or another part of the link sends it. */
  readonly #table: {
    readonly [T in PodEvent['type']]: ((event: PodEventOf<T>) => void) | undefined;
  } = {
    'run-start': () => this.#openLoop(),
    input: (event) => this.#input(event),
    'turn-start': () => this.#openTurn(),
    status: (event) => {
      if (event.status === 'started') this.#beginAnswer();
      if (event.status === 'completed') this.#stopReason = event.stopReason;
    },
    error: ({ message }) => {
      this.#beginAnswer();
      this.#error = message;
    },
    'block-start': (event) => this.#blockStart(event),
    'block-delta': (event) => this.#delta(event),
    'block-stop': (event) => this.#blockStop(event),
    'block-abort': undefined,
    'llm-end': (event) => this.#endAnswer(event),
    'tool-start': ({ call }) => this.#toolStart(call),
    'tool-update': ({ callId, text }) => this.#toolUpdate(callId, text),
    'tool-end': (event) => this.#toolEnd(event),
    'turn-end': ({ results }) => this.#closeTurn(results),
    'retry-start': (event) => this.#retry(event),
    'retry-end': (event) => this.#retried(event),
    'compaction-start': ({ reason }) => this.#compacting(reason),
    'compaction-end': (event) => this.#compacted(event, undefined),
    'run-end': ({ outcome }) => this.#endRun(outcome),
    state: ({ state }) => this.#settle(state),
    ping: undefined,
    usage: undefined,
    queued: undefined,
    unqueued: undefined,
    'approval-request': undefined,
    'approval-response': undefined,
    settings: undefined,
    todos: undefined,
    // Clients of this protocol name their sessions themselves.
    title: undefined,
    branched: undefined,
    'file-change': undefined,
    rewound: undefined,
    'shell-start': undefined,
    'shell-update': undefined,
    'shell-end': undefined,
    'background-start': undefined,
    'background-end': undefined,
    'client-call': undefined,
    'client-cancel': undefined,
    recovered: undefined,
    commanded: undefined,
    closed: undefined,
  };

  #openLoop(): void {
    if (this.#loop !== undefined) return;
    this.#loop = [];
    this.#parts.send({ type: 'agent_start' });
  }

  #openTurn(): void {
    this.#openLoop();
    if (this.#isTurnOpen) return;
    this.#isTurnOpen = true;
    this.#answer = undefined;
    this.#results = [];
    this.#parts.send({ type: 'turn_start' });
  }

  #input(event: PodEventOf<'input'>): void {
    const { item, origin, customType } = event;
    // Commands of a person are not announced. The part of an incomplete answer was sent with that answer.
    if (item.type !== 'message' || item.role === 'assistant' || origin === 'shell') return;
    this.#openTurn();
    if (customType === TODO_REMINDER) return;
    const now = this.#parts.now();
    const frame = customType === undefined ? inputFrame(item, now) : customFrame(item, customType, now);
    for (const message of splitMentions(frame)) this.#whole(message);
  }

  /** Sends a complete message. */
  #whole(message: RpcMessage): void {
    this.#parts.send({ type: 'message_start', message });
    this.#parts.send({ type: 'message_end', message });
    this.#loop?.push(message);
  }

  #beginAnswer(): void {
    if (this.#growing !== undefined) return;
    this.#openTurn();
    [this.#stopReason, this.#error] = [undefined, ''];
    const { content: _, ...rest } = answerFrame([], this.#about('stop'));
    this.#growing = new GrowingMessage(rest);
    this.#parts.send({ type: 'message_start', message: this.#growing.empty() });
    this.#parts.updates.begin(this.#growing);
  }

  #blockStart(event: PodEventOf<'block-start'>): void {
    this.#beginAnswer();
    this.#growing?.start(event);
    const position = this.#growing?.at(event.index);
    if (position === undefined) return;
    const { kind, contentIndex } = position;
    this.#parts.updates.send({ type: `${kind}_start`, contentIndex }, event.seq);
  }

  #delta({ index, delta, seq }: PodEventOf<'block-delta'>): void {
    const position = this.#growing?.at(index);
    if (position === undefined) return;
    const text = delta.type === 'input-json' ? delta.json : delta.text;
    this.#parts.updates.delta(position, text, seq);
  }

  #blockStop({ index, seq }: PodEventOf<'block-stop'>): void {
    const growing = this.#growing;
    const position = growing?.at(index);
    if (growing === undefined || position === undefined) return;
    const { contentIndex, kind } = position;
    this.#parts.updates.flush();
    const block = growing.finish(contentIndex);
    const content = growing.textAt(contentIndex);
    this.#parts.updates.send(
      kind === 'toolcall'
        ? { type: 'toolcall_end', contentIndex, toolCall: block }
        : { type: `${kind}_end`, contentIndex, content },
      seq,
    );
  }

  #endAnswer({ outcome, items, broken, usage, cost }: PodEventOf<'llm-end'>): void {
    if (this.#isGivenUp) return;
    this.#beginAnswer();
    const about = this.#about(fileStopReason(outcome, this.#stopReason, items));
    const spent = { ...(usage && { usage }), ...(cost && { cost }) };
    if (outcome === 'completed') this.#finishAnswer(answerFrame(items, { ...about, ...spent }));
    else this.#breakAnswer(outcome, spent, broken && brokenFrame(broken, about).content);
    this.#sendRetryEnd();
  }

  /** `content` is the part that the session keeps, if known; else the part that was sent. */
  #breakAnswer(
    outcome: 'cancelled' | 'failed',
    spent: Pick<AnswerDetails, 'usage' | 'cost'> = {},
    content: unknown = this.#growing?.broken() ?? [],
  ): void {
    const isAborted = outcome === 'cancelled';
    const errorMessage = isAborted ? TEXTS.aborted : this.#error;
    const about = this.#about(isAborted ? 'aborted' : 'error');
    this.#finishAnswer({ ...brokenFrame([], { ...about, ...spent, errorMessage }), content });
  }

  #finishAnswer(message: RpcMessage): void {
    this.#parts.updates.end();
    this.#growing = undefined;
    this.#answer = message;
    this.#loop?.push(message);
    this.#parts.send({ type: 'message_end', message });
  }

  #toolStart({ callId, name, arguments: text }: PodEventOf<'tool-start'>['call']): void {
    this.#openTurn();
    const args = argumentsFrame(text);
    this.#calls.set(callId, { name, args });
    this.#parts.send({ type: 'tool_execution_start', toolCallId: callId, toolName: name, args });
  }

  #toolUpdate(callId: string, text: string): void {
    const { name = '', args = {} } = this.#calls.get(callId) ?? {};
    const partialResult = this.#parts.hostTools.partialOf(callId) ?? { content: [{ type: 'text', text }] };
    this.#parts.send({
      type: 'tool_execution_update',
      toolCallId: callId,
      toolName: name,
      args,
      partialResult,
    });
  }

  #toolEnd({ callId, name, output }: PodEventOf<'tool-end'>): void {
    const { isError, content } = output;
    const hostResult = this.#parts.hostTools.takeResult(callId);
    const result = isError || hostResult === undefined ? toolResultFrame(output) : hostResult;
    this.#calls.delete(callId);
    this.#parts.send({
      type: 'tool_execution_end',
      toolCallId: callId,
      toolName: name,
      result,
      isError,
      isWarning: result.isWarning ?? false,
    });
    const item = { type: 'tool-result', callId, content, isError } as const;
    const message = resultFrame(item, name, this.#parts.now(), result.details);
    this.#results.push(message);
    this.#whole(message);
  }

  #closeTurn(results: PodEventOf<'turn-end'>['results']): void {
    if (!this.#isTurnOpen || this.#isGivenUp) return;
    for (const item of results) {
      // A call that was not run has no `tool-end` event.
      if (item.type !== 'tool-result' || this.#results.some(({ toolCallId }) => toolCallId === item.callId))
        continue;
      this.#results.push(resultFrame(item, '', this.#parts.now(), {}));
    }
    this.#isTurnOpen = false;
    const message = this.#answer ?? answerFrame([], this.#about('stop'));
    this.#parts.send({ type: 'turn_end', message, toolResults: this.#results });
  }

  #closeLoop(): void {
    if (this.#loop === undefined) return;
    const messages = this.#loop;
    this.#loop = undefined;
    this.#isTurnOpen = false;
    this.#parts.send({ type: 'agent_end', messages });
    this.#sendRetryEnd();
  }

  #retry({ attempt, maxAttempts, delayMs, failure }: PodEventOf<'retry-start'>): void {
    this.#beginAnswer();
    this.#error = failure.message;
    this.#breakAnswer('failed');
    this.#closeTurn([]);
    this.#retryEnd = undefined;
    this.#closeLoop();
    this.#parts.send({
      type: 'auto_retry_start',
      attempt,
      // The protocol counts only the attempts after the first.
      maxAttempts: maxAttempts - 1,
      delayMs: Math.round(delayMs),
      errorMessage: failure.message,
    });
  }

  #retried({ attempt, success, failure }: PodEventOf<'retry-end'>): void {
    this.#isGivenUp = !success && this.#loop === undefined;
    const finalError = this.#isGivenUp ? TEXTS.retryCancelled : failure?.message;
    this.#retryEnd = {
      type: 'auto_retry_end',
      success,
      attempt,
      ...(success || finalError === undefined ? {} : { finalError }),
    };
    if (this.#isGivenUp) this.#sendRetryEnd();
  }

  /** Sent after the answer of the successful attempt, or after the end of the failed loop. */
  #sendRetryEnd(): void {
    if (this.#retryEnd === undefined || (!this.#retryEnd.success && this.#loop !== undefined)) return;
    this.#parts.send(this.#retryEnd);
    this.#retryEnd = undefined;
  }

  /** A manual compaction is reported only by its response. */
  #compacting(reason: PodEventOf<'compaction-start'>['reason']): void {
    if (reason === 'manual') return;
    if (reason === 'overflow') this.#closeLoop();
    this.#parts.send({ type: 'auto_compaction_start', reason, action: 'context-full' });
  }

  #compacted({ reason, result }: PodEventOf<'compaction-end'>, compaction: RpcCompaction | undefined): void {
    if (reason === 'manual') return;
    const failed = reason === 'overflow' ? 'Context overflow recovery failed' : 'Auto-compaction failed';
    this.#parts.send({
      type: 'auto_compaction_end',
      action: 'context-full',
      ...(compaction && { result: compaction }),
      aborted: result.status === 'cancelled',
      willRetry: reason === 'overflow' && result.status === 'compacted',
      ...(result.status === 'failed' ? { errorMessage: `${failed}: ${result.failure.message}` } : {}),
      ...(result.status === 'skipped' ? { skipped: true } : {}),
    });
  }

  #endRun(outcome: Outcome): void {
    if (
      outcome.status === 'cancelled' &&
      this.#loop !== undefined &&
      this.#answer?.stopReason !== 'aborted'
    ) {
      // Cancelled between two answers: clients expect an answer with this stop reason.
      this.#beginAnswer();
      this.#breakAnswer('cancelled');
      this.#closeTurn([]);
    }
    this.#closeLoop();
    this.#isGivenUp = false;
    this.#outcome = outcome;
  }

  #settle(state: PodEventOf<'state'>['state']): void {
    if (this.#outcome === undefined || state === 'running' || state === 'waiting') return;
    const outcome = this.#outcome;
    this.#outcome = undefined;
    if (!this.#parts.startsNextRun(outcome))
      this.#parts.send({ type: 'agent_settled', aborted: outcome.status === 'cancelled' });
  }

  #about(stopReason: AnswerDetails['stopReason']): AnswerDetails {
    const { provider, id, wire } = this.#parts.model();
    return { wire, provider, model: id, stopReason, timestamp: this.#parts.now() };
  }
}

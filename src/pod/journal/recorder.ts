import { type JsonObject, withoutUndefined } from '../../base/index.ts';
import { type Item, type StopReason, contentText, type ProviderApi, type ItemOf } from '../../llm/index.ts';
import type { ModelChoice } from '../session/index.ts';
import {
  type AgentMessage,
  type AnswerDetails,
  answerMessage,
  APPROVAL_REQUEST,
  APPROVAL_RESPONSE,
  BACKGROUND_END,
  BACKGROUND_START,
  type Body,
  BRANCH,
  brokenMessage,
  checkpointBody,
  compactionBody,
  type Entry,
  FILE_CHANGE,
  fileStopReason,
  inputMessage,
  MARK,
  QUEUED,
  resultMessage,
  REWIND,
  RUN_END,
  RUN_START,
  SETTINGS,
  SHELL_END,
  SHELL_START,
  TITLE,
  TODOS,
  TOOL_END,
  TOOL_START,
  UNQUEUED,
} from '../session/index.ts';
import type { RunOutcome, Totals } from '../../worker/index.ts';
import type { PodFact, PodFactOf } from '../event.ts';
import { type OpenCall, openCallsIn } from '../view/open-calls.ts';
import type { PodSettings } from '../settings.ts';

/** What the recorder reads from the pod besides its events. */
export interface RecorderSource {
  readonly now: () => number;
  /** The current model. */
  readonly model: () => ModelChoice & { readonly wire: ProviderApi };
  readonly totals: () => Totals;
  readonly settings: () => PodSettings;
  /** Whether an approval of a call of the turn is pending. */
  readonly isAwaiting: () => boolean;
  /** The pod's state for a checkpoint. */
  readonly state: () => JsonObject;
}

/** The result of a call that ended before an earlier call of its turn. */
export interface EarlyResult {
  readonly item: Item;
  readonly message: AgentMessage;
}

type ResultItem = ItemOf<'tool-result'>;
/** Maps events to entries of the session file. An event without an entry is only in the feed, until the feed removes it. */
export class Recorder {
  readonly #known: RecorderSource;
  /** The entry of each item of the conversation. */
  #entryIds: string[];
  #stopReason: StopReason | undefined;
  #error: string | undefined;
  /** The calls of the turn in order, and results that arrived out of order. */
  #calls: readonly OpenCall[] = [];
  readonly #early = new Map<string, AgentMessage>();

  constructor(known: RecorderSource, entryIds: readonly string[]) {
    this.#known = known;
    this.#entryIds = [...entryIds];
  }

  /** Creates the entries for an event. `add` adds each to the tree, in order. */
  record(fact: PodFact, message: AgentMessage | undefined, add: (body: Body) => Entry): void {
    switch (fact.type) {
      case 'run-start': {
        const { type: _, ...start } = fact;
        add(RUN_START.body(start));
        return;
      }
      case 'run-end':
        add(RUN_END.body({ ...runEndData(fact.runId, fact.outcome), totals: this.#known.totals() }));
        return;
      case 'input':
        if (fact.item.type === 'message' && fact.item.role !== 'assistant')
          this.#addItems(
            1,
            add(message === undefined ? this.#inputBody(fact, fact.item) : { type: 'message', message }),
          );
        else this.#answer([fact.item], {}, add);
        return;
      case 'turn-start':
        [this.#stopReason, this.#error] = [undefined, undefined];
        return;
      case 'status':
        if (fact.status === 'completed') this.#stopReason = fact.stopReason;
        return;
      case 'error':
        this.#error = fact.message;
        return;
      case 'llm-end':
        this.#calls = fact.items.flatMap((item) => (item.type === 'tool-call' ? [item] : []));
        this.#early.clear();
        if (fact.outcome !== 'completed') this.#broken(fact, add);
        else if (fact.items.length > 0) this.#answer(fact.items, fact, add);
        return;
      case 'tool-start':
        // Without a pending approval, another process would not run any call of the turn.
        if (this.#known.isAwaiting()) add(TOOL_START.body({ callId: fact.call.callId }));
        return;
      case 'tool-end': {
        const { callId, name, output } = fact;
        const item: ResultItem = {
          type: 'tool-result',
          callId,
          content: output.content,
          isError: output.isError,
        };
        const { details, used } = output;
        const recorded = used === undefined ? details : { ...details, used: { ...used } };
        this.#early.set(callId, resultMessage(item, name, this.#known.now(), recorded));
        if (this.#calls[0]?.callId !== callId)
          add(TOOL_END.body({ callId, name, message: this.#early.get(callId) ?? {} }));
        else this.#addResults(add);
        return;
      }
      case 'turn-end':
        this.#closeTurn(fact, add);
        return;
      case 'compaction-end': {
        const { result } = fact;
        if (result.status !== 'compacted') return;
        const { id } = add(compactionBody({ entryIds: this.#entryIds }, result));
        this.#entryIds = [id, ...this.#entryIds.slice(result.replaced)];
        add(this.#checkpoint());
        return;
      }
      case 'queued': {
        const { type: _, ...queued } = fact;
        add(QUEUED.body({ ...queued, content: queued.content.map((part) => ({ ...part })) }));
        return;
      }
      case 'unqueued':
        add(UNQUEUED.body({ queueIds: fact.queueIds }));
        return;
      case 'approval-request': {
        const { rule, ...approval } = fact.approval;
        add(APPROVAL_REQUEST.body({ ...approval, ...(rule && { rule: { ...rule } }) }));
        return;
      }
      case 'approval-response': {
        const { type: _, ...response } = fact;
        add(APPROVAL_RESPONSE.body(response));
        return;
      }
      case 'settings':
        this.#change(fact, add);
        return;
      case 'todos':
        add(TODOS.body({ items: fact.items.map((item) => ({ ...item })) }));
        return;
      case 'title':
        add(TITLE.body({ title: fact.title, totals: fact.totals }));
        return;
      case 'branched':
        // In the middle of a turn, its calls also get their results here.
        this.#calls = openCallsIn(fact.items);
        this.#early.clear();
        add(BRANCH.body(fact.from === null ? {} : { from: fact.from }));
        return;
      case 'file-change': {
        const { type: _, ...change } = fact;
        add(FILE_CHANGE.body(change));
        return;
      }
      case 'rewound': {
        const { type: _, ...rewind } = fact;
        add(REWIND.body(rewind));
        return;
      }
      case 'shell-start': {
        const { type: _, ...start } = fact;
        add(SHELL_START.body(start));
        return;
      }
      case 'shell-end':
        add(SHELL_END.body({ shellId: fact.shellId, message: message ?? {} }));
        return;
      case 'background-start': {
        const { type: _, ...command } = fact;
        add(BACKGROUND_START.body(command));
        return;
      }
      case 'background-end': {
        const { id, status, message: text } = fact;
        add(BACKGROUND_END.body({ id, status, message: text }));
        return;
      }
      case 'recovered':
        add(MARK.body({}));
        return;
      case 'block-start':
      case 'block-delta':
      case 'block-stop':
      case 'block-abort':
      case 'ping':
      case 'usage':
      case 'tool-update':
      case 'retry-start':
      case 'retry-end':
      case 'compaction-start':
      case 'state':
      case 'shell-update':
      case 'client-call':
      case 'client-cancel':
      case 'commanded':
      case 'closed':
        return;
    }
  }

  /** Replaces the items after a branch. */
  rebase(entryIds: readonly string[]): void {
    this.#entryIds = [...entryIds];
  }

  /** A prompt that no person wrote is not recorded as a user message: other programs would count it and offer to branch there. */
  #inputBody({ customType }: PodFactOf<'input'>, item: ItemOf<'message'>): Body {
    return customType === undefined
      ? { type: 'message', message: inputMessage(item, this.#known.now()) }
      : { type: 'custom_message', customType, content: contentText(item.content), display: false };
  }

  #addItems(items: number, { id }: Entry): void {
    for (let count = 0; count < items; count += 1) this.#entryIds.push(id);
  }

  #answer(items: readonly Item[], spent: Partial<PodFactOf<'llm-end'>>, add: (body: Body) => Entry): void {
    const message = answerMessage(items, this.#about(items, spent));
    this.#addItems(items.length, add({ type: 'message', message }));
  }

  /** A failed answer is not part of the conversation. Of an interrupted answer the model receives the text. */
  #broken(end: PodFactOf<'llm-end'>, add: (body: Body) => Entry): void {
    const errorMessage = end.outcome === 'cancelled' ? ABORTED : this.#error;
    const about = this.#about([], end);
    const answer = errorMessage === undefined ? about : { ...about, errorMessage };
    this.#addItems(
      end.items.length,
      add({ type: 'message', message: brokenMessage(end.broken ?? [], answer) }),
    );
  }

  #about(items: readonly Item[], spent: Partial<PodFactOf<'llm-end'>>): AnswerDetails {
    const { provider, modelId, wire } = this.#known.model();
    const { outcome = 'completed', usage, cost } = spent;
    return {
      wire,
      provider,
      model: modelId,
      stopReason: fileStopReason(outcome, this.#stopReason, items),
      ...withoutUndefined({ usage, cost }),
      timestamp: this.#known.now(),
    };
  }

  /** Records results in call order: only those that are next in the order. */
  #addResults(add: (body: Body) => Entry): void {
    for (const { callId } of this.#calls) {
      const message = this.#early.get(callId);
      if (message === undefined) return;
      this.#calls = this.#calls.slice(1);
      this.#early.delete(callId);
      this.#addItems(1, add({ type: 'message', message }));
    }
  }

  /** Records results for all calls that have none in the file, including calls that never ran. */
  #closeTurn({ results }: PodFactOf<'turn-end'>, add: (body: Body) => Entry): void {
    for (const item of results) {
      const [call] = this.#calls;
      if (item.type !== 'tool-result' || call?.callId !== item.callId) continue;
      const message = this.#early.get(call.callId) ?? resultMessage(item, call.name, this.#known.now());
      this.#calls = this.#calls.slice(1);
      this.#addItems(1, add({ type: 'message', message }));
    }
    this.#calls = [];
    this.#early.clear();
  }

  /** Restores the open calls of a session and the results that some of them already have. */
  reopen(calls: readonly OpenCall[], early: ReadonlyMap<string, EarlyResult>): void {
    this.#calls = calls;
    for (const [callId, { message }] of early) this.#early.set(callId, message);
  }

  #change({ settings, by, door }: PodFactOf<'settings'>, add: (body: Body) => Entry): void {
    const before = this.#known.settings();
    const { model, thinking, name } = settings;
    if (model !== undefined && !isSame(model, before.model)) add({ type: 'model_change', ...model });
    if (thinking !== before.thinking) add({ type: 'thinking_level_change', thinkingLevel: thinking ?? null });
    if (name !== before.name) add({ type: 'session_info', name: name ?? '' });
    add(SETTINGS.body({ settings: { ...settings }, ...(by && { by }), ...(door && { door }) }));
  }

  #checkpoint(): Body {
    const { model, thinking, name } = this.#known.settings();
    return checkpointBody(
      {
        items: [],
        entryIds: [],
        ...withoutUndefined({ model, thinkingLevel: thinking, name }),
        totals: this.#known.totals(),
      },
      this.#known.state(),
    );
  }
}

/** pi's wording. */
const ABORTED = 'Request was aborted';

/** How a run ended, as recorded in the file. */
export function runEndData(runId: string, outcome: RunOutcome) {
  const { status } = outcome;
  return {
    runId,
    status,
    ...('callIds' in outcome && { callIds: outcome.callIds }),
    ...('message' in outcome && { message: outcome.message, kind: outcome.limit }),
    ...('failure' in outcome && { message: outcome.failure.message, kind: outcome.failure.kind }),
  };
}

function isSame(a: ModelChoice, b: ModelChoice | undefined): boolean {
  return a.provider === b?.provider && a.modelId === b.modelId;
}

import { type JsonObject, numberOf, objectOf, shape, stringOf, withoutUndefined } from '../../base/index.ts';
import { type FailureKind, type Item, THINKING_LEVELS, type ItemOf } from '../../llm/index.ts';
import { endedCommandsIn } from '../../tools/index.ts';
import { type ContextMeasurement, type RunOutcome, type Totals, NO_TOTALS } from '../../worker/index.ts';
import { CONTENT, OVERRIDES, TODO } from '../command.ts';
import { BACKGROUND_NOTICE, type PodFact } from '../event.ts';
import { readRecordedReceipt, type RecordedReceipt } from '../receipts.ts';
import {
  type AgentMessage,
  APPROVAL_REQUEST,
  APPROVAL_RESPONSE,
  BACKGROUND_END,
  BACKGROUND_START,
  CHECKPOINT,
  conversation,
  type Entry,
  FORK,
  isFact,
  itemsOf,
  type ModelChoice,
  QUEUED,
  RUN_END,
  RUN_START,
  SETTINGS,
  type SessionTree,
  SHELL_END,
  SHELL_START,
  spentOn,
  TITLE,
  TODOS,
  TOOL_END,
  TOOL_START,
  UNQUEUED,
} from '../session/index.ts';
import { changed, DEFAULT_SETTINGS, type PodSettings, RULE, RECORDED_SETTINGS } from '../settings.ts';
import { SESSION_TITLE } from '../session-title.ts';
import { PodView } from '../view/view.ts';
import { type OpenCall, openCallsIn } from '../view/open-calls.ts';
import { type EarlyResult, runEndData } from './recorder.ts';

/** A finished shell command whose output is not in the conversation yet. */
export interface UnsentShellOutput {
  readonly shellId: string;
  readonly message: AgentMessage;
}

type ResultItem = ItemOf<'tool-result'>;

/** The state of a pod, restored from its session file. */
export interface Restored {
  readonly view: PodView;
  readonly entryIds: readonly string[];
  readonly totals: Totals | undefined;
  readonly receipts: readonly RecordedReceipt[];
  /** The number of context tokens at the last answer. */
  readonly measured?: ContextMeasurement;
  /** The highest number of an entry. */
  readonly lastSeq: number;
  /** Another program has appended entries, or a power cut has lost part of an event: the feed does not match. */
  readonly isForeign: boolean;
  /** Calls of the last turn that have no result at their position in the file. */
  readonly openCalls: readonly OpenCall[];
  /** Results of the other calls of that turn, by call. */
  readonly placedResults: ReadonlyMap<string, ResultItem>;
  /** Early results of open calls. */
  readonly earlyResults: ReadonlyMap<string, EarlyResult>;
  /** Calls that started while approvals of their turn were pending. */
  readonly started: ReadonlySet<string>;
  readonly unsentShellOutputs: readonly UnsentShellOutput[];
}

/** Restores a pod from its session: all facts in file order, and the conversation at the leaf. */
export function restore(tree: SessionTree): Restored {
  const reader = new Reader();
  for (const entry of tree.entries()) reader.take(entry);
  const { items, entryIds, model, totals } = conversation(tree);
  const { view } = reader;
  const openCalls = openCallsIn(items);
  // Results become part of the conversation at the end of their turn.
  const placed = openCalls.length > 0 ? lastResultsIn(items) : [];
  view.items = items.slice(0, items.length - placed.length);
  view.turn = totals?.turns ?? 0;
  // Only if Polypod recorded no choice: the agent's default model is not a choice.
  if (!reader.isSet && view.settings.model === undefined && model !== undefined)
    view.settings = { ...view.settings, model };
  for (const entry of tree.path()) if (entry.type === 'message') addDiff(view, entry.message);
  for (const { message } of reader.early.values()) addDiff(view, message);
  const measured = measuredOn(tree, entryIds);
  if (measured !== undefined) view.contextTokens = measured.tokens;
  return {
    view,
    entryIds,
    totals,
    receipts: [...reader.receipts],
    lastSeq: reader.lastSeq,
    isForeign: reader.isForeign,
    ...withoutUndefined({ measured }),
    openCalls,
    placedResults: new Map(placed.map((item) => [item.callId, item])),
    earlyResults: reader.early,
    started: reader.started,
    unsentShellOutputs: [...reader.shells.values()],
  };
}

function addDiff({ diffs }: PodView, message: AgentMessage): void {
  if (message.role === 'toolResult') diffs.add(stringOf(message.toolCallId), message.details);
}

/** The results after the last call. */
function lastResultsIn(items: readonly Item[]): readonly ResultItem[] {
  const last = items.findLastIndex(({ type }) => type === 'tool-call');
  return items.slice(last + 1).filter((item) => item.type === 'tool-result');
}

/** The token count of the last answer, if no compaction followed. An interrupted answer may have no count, and has no items. */
function measuredOn(tree: SessionTree, entryIds: readonly string[]): ContextMeasurement | undefined {
  const path = tree.path();
  const at = path.findLastIndex((entry) => entry.type === 'compaction' || inputTokensOf(entry) !== undefined);
  const last = path[at];
  if (last?.type !== 'message') return undefined;
  const { inputTokens = 0, outputTokens = 0 } = spentOn(last.message).usage ?? {};
  const later = new Set(path.slice(at + 1).map(({ id }) => id));
  return { tokens: inputTokens + outputTokens, items: entryIds.filter((id) => !later.has(id)).length };
}

function inputTokensOf(entry: Entry): number | undefined {
  const isAnswer = entry.type === 'message' && entry.message.role === 'assistant';
  return isAnswer ? spentOn(entry.message).usage?.inputTokens : undefined;
}

class Reader {
  view = new PodView();
  receipts: RecordedReceipt[] = [];
  lastSeq = 0;
  isForeign = false;
  /** Whether the session has settings that Polypod wrote. */
  isSet = false;
  early = new Map<string, EarlyResult>();
  readonly started = new Set<string>();
  readonly shells = new Map<string, UnsentShellOutput>();

  take(entry: Entry): void {
    const fork = FORK.in(entry);
    if (fork !== undefined) {
      this.#begin({ settings: this.view.settings });
      return;
    }
    const checkpoint = CHECKPOINT.in(entry);
    if (checkpoint !== undefined) this.#resume(checkpoint.state ?? {});
    const { seq, receipt, queueId, shellId, more } = entry.extras ?? {};
    const recorded = readRecordedReceipt(receipt);
    if (recorded !== undefined) this.receipts.push(recorded);
    this.isForeign = numberOf(seq) === undefined || more === true;
    this.lastSeq = Math.max(this.lastSeq, numberOf(seq) ?? 0);
    if (typeof queueId === 'string') this.view.apply({ type: 'unqueued', queueIds: [queueId] });
    if (typeof shellId === 'string') this.shells.delete(shellId);
    if (isFact(entry)) this.#takeFact(entry);
    else this.#takeEntry(entry);
  }

  /**
   * Drops the state of the session that this one was forked from, except its settings. A fork does not inherit the name, the
   * annotations and `mcpContext`.
   */
  #begin({ settings }: { readonly settings: PodSettings }): void {
    const { name: _, annotations: __, mcpContext: ___, ...rest } = settings;
    this.view = new PodView();
    this.view.settings = rest;
    this.receipts = [];
    this.lastSeq = 0;
    this.isForeign = false;
    this.#clearTurn();
    this.shells.clear();
  }

  #resume(state: JsonObject): void {
    const { view, receipts, unsentShellOutputs, lastSeq } = readPersistedState(state);
    // A checkpoint contains the last tasks and the pending ones.
    const { tasks } = this.view;
    for (const [taskId, task] of view.tasks.all()) tasks.set(taskId, task);
    this.view = view;
    view.tasks = tasks;
    for (const shell of unsentShellOutputs) this.shells.set(shell.shellId, shell);
    this.receipts = [...receipts];
    this.isSet = true;
    this.lastSeq = Math.max(this.lastSeq, lastSeq);
  }

  #takeEntry(entry: Entry): void {
    if (entry.type === 'message') this.#takeMessage(entry.message);
    if (entry.type === 'custom_message' && entry.customType === BACKGROUND_NOTICE)
      this.view.reportEnded([...this.view.background.keys()]);
    if (entry.type === 'model_change' && (entry.role === undefined || entry.role === 'default')) {
      const model: ModelChoice = { provider: entry.provider, modelId: entry.modelId };
      this.#set({ model });
    }
    if (entry.type === 'thinking_level_change') this.#setThinking(entry.thinkingLevel);
    if (entry.type === 'session_info') this.#set({ name: entry.name });
  }

  /** Ignores a level that only another program knows. */
  #setThinking(level: string | null): void {
    const thinking = THINKING_LEVELS.find((known) => known === level);
    const { thinking: _, ...others } = this.view.settings;
    this.view.settings = thinking === undefined ? others : { ...others, thinking };
  }

  #takeMessage(message: AgentMessage): void {
    const { tasks, run } = this.view;
    if (message.role === 'assistant') {
      this.#clearTurn();
      this.view.approvals.beginTurn();
    }
    const [item] = message.role === 'user' ? itemsOf(message) : [];
    if (item?.type === 'message') {
      this.view.beginTitle(item.content);
      tasks.describe(run?.taskId, item.content);
    }
    if (message.role !== 'toolResult') return;
    if (objectOf(message.details).denied === true) tasks.deny(run?.taskId);
    this.#reportEnded(message);
  }

  #reportEnded({ toolName, details }: AgentMessage): void {
    this.view.reportEnded(endedCommandsIn(stringOf(toolName), details));
  }

  #clearTurn(): void {
    this.early.clear();
    this.started.clear();
  }

  #takeFact(entry: Entry): void {
    const shell = SHELL_END.in(entry);
    const started = TOOL_START.in(entry);
    const ended = TOOL_END.in(entry);
    if (ended !== undefined) {
      const message: AgentMessage = { role: 'toolResult', ...ended.message };
      const [item] = itemsOf(message);
      if (item !== undefined) this.early.set(ended.callId, { item, message });
      this.#reportEnded(message);
    } else if (started !== undefined) {
      this.started.add(started.callId);
    } else if (shell !== undefined) {
      this.shells.set(shell.shellId, shellOutputIn(shell));
      this.view.shells.delete(shell.shellId);
    } else {
      const fact = factIn(entry);
      if (fact !== undefined) this.view.apply(fact);
      this.isSet ||= fact?.type === 'settings';
    }
  }

  #set(change: Partial<PodSettings>): void {
    this.view.settings = { ...this.view.settings, ...change };
  }
}

/** The event that an entry records. */
function factIn(entry: Entry): PodFact | undefined {
  const start = RUN_START.in(entry);
  if (start !== undefined) {
    const { overrides, ...run } = start;
    return { type: 'run-start', ...run, ...sound('overrides', OVERRIDES, overrides) };
  }
  const end = RUN_END.in(entry);
  if (end !== undefined) return runEnd(end);
  const queued = QUEUED.in(entry);
  if (queued !== undefined) {
    const { overrides, ...message } = queued;
    const content = read(CONTENT, message.content);
    if (content === undefined) return undefined;
    return { type: 'queued', ...message, content, ...sound('overrides', OVERRIDES, overrides) };
  }
  const unqueued = UNQUEUED.in(entry);
  if (unqueued !== undefined) return { type: 'unqueued', ...unqueued };
  const request = APPROVAL_REQUEST.in(entry);
  if (request !== undefined) {
    const { rule, ...approval } = request;
    return { type: 'approval-request', approval: { ...approval, ...sound('rule', RULE, rule) } };
  }
  const response = APPROVAL_RESPONSE.in(entry);
  if (response !== undefined) return { type: 'approval-response', ...response };
  const settings = SETTINGS.in(entry);
  if (settings !== undefined) return { type: 'settings', settings: readSettings(settings.settings) };
  const todos = TODOS.in(entry);
  if (todos !== undefined) return { type: 'todos', items: read(shape.listOf(TODO), todos.items) ?? [] };
  const title = TITLE.in(entry);
  if (title !== undefined) return { type: 'title', title: title.title, totals: title.totals ?? NO_TOTALS };
  const background = BACKGROUND_START.in(entry);
  if (background !== undefined) return { type: 'background-start', ...background };
  const ended = BACKGROUND_END.in(entry);
  if (ended !== undefined) return { type: 'background-end', command: '', ...ended };
  const shell = SHELL_START.in(entry);
  return shell && { type: 'shell-start', ...shell };
}

function runEnd(end: NonNullable<ReturnType<typeof RUN_END.in>>): PodFact {
  const { runId, totals } = end;
  return {
    type: 'run-end',
    runId,
    outcome: outcomeOf(end),
    totals: totals ?? NO_TOTALS,
    ...withoutUndefined({ conversation: totals }),
  };
}

function outcomeOf(end: NonNullable<ReturnType<typeof RUN_END.in>>): RunOutcome {
  const { status, message = '', callIds = [] } = end;
  switch (status) {
    case 'paused':
      return { status, callIds };
    case 'failed':
      return { status, failure: { kind: failureKindOf(end.kind), message } };
    case 'limited':
      return { status, limit: limitOf(end.kind), message };
    default:
      return { status };
  }
}

function failureKindOf(kind: string | undefined): FailureKind {
  return FAILURE_KINDS.find((known) => known === kind) ?? 'provider';
}

const FAILURE_KINDS: readonly FailureKind[] = [
  'auth',
  'quota',
  'rate-limit',
  'overloaded',
  'server',
  'unknown-model',
  'invalid-request',
  'context-too-long',
  'network',
  'timeout',
  'cut-off',
  'malformed',
];

function limitOf(kind: string | undefined): 'max-turns' | 'loop' | 'budget' {
  return kind === 'loop' || kind === 'budget' ? kind : 'max-turns';
}

/** Reads settings that Polypod wrote. If a key is invalid, uses the defaults. */
function readSettings(value: JsonObject): PodSettings {
  return changed(DEFAULT_SETTINGS, read(RECORDED_SETTINGS, value) ?? {});
}

function read<T>(from: shape.Shape<T>, value: unknown): T | undefined {
  return from.read(value, [], () => {});
}

/** The value of a key, if it is present and valid. */
function sound<const K extends string, T>(key: K, from: shape.Shape<T>, value: unknown) {
  const found = value === undefined ? undefined : read(from, value);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a computed key loses its name
  return (found === undefined ? {} : { [key]: found }) as { readonly [P in K]?: T };
}

/** The part of a checkpoint that is not derived from events. */
export interface PersistedState {
  readonly receipts: readonly RecordedReceipt[];
  readonly unsentShellOutputs: readonly UnsentShellOutput[];
  readonly lastSeq: number;
}

/** The state of a pod for a checkpoint, so that nothing before it has to be read. */
export function persistedState(
  view: PodView,
  { receipts, unsentShellOutputs, lastSeq }: PersistedState,
): JsonObject {
  return {
    settings: view.settings,
    todos: view.todos,
    title: view.title,
    queue: view.queue,
    approvals: view.approvals.pending(),
    run: view.run,
    lastRun: view.lastRun && { ...view.lastRun, ...runEndData(view.lastRun.runId, view.lastRun.outcome) },
    shells: [...view.shells.values()].map(({ shellId, command, private: isPrivate }) => ({
      shellId,
      command,
      private: isPrivate,
    })),
    background: [...view.background.values()],
    // These key names are part of the file format.
    untold: unsentShellOutputs,
    signed: receipts,
    lastSeq,
  };
}

/** Reads that state, with the readers of the corresponding facts. */
function readPersistedState(state: JsonObject): { readonly view: PodView } & PersistedState {
  const view = new PodView();
  const facts: readonly (readonly [string, unknown])[] = [
    ['settings', { settings: state.settings }],
    ['todos', { items: state.todos }],
    ...listOf(state.queue).map((queued) => ['queued', queued] as const),
    ...listOf(state.approvals).map((approval) => ['approval-request', approval] as const),
    ...listOf(state.shells).map((shell) => ['shell-start', shell] as const),
    ...listOf(state.background).flatMap((command) => [
      ['background-start', command] as const,
      ['background-end', { ...objectOf(objectOf(command).end), id: objectOf(command).id }] as const,
    ]),
    ['run-start', state.lastRun],
    ['run-end', state.lastRun],
    ['run-start', state.run],
  ];
  for (const [kind, data] of facts) {
    const fact = factIn({ ...PLACE, type: 'custom', customType: `polypod.${kind}`, data });
    if (fact !== undefined) view.apply(fact);
  }
  view.title = read(SESSION_TITLE, state.title);
  const receipts = listOf(state.signed).flatMap((one) => readRecordedReceipt(one) ?? []);
  const unsentShellOutputs = listOf(state.untold).flatMap((shell) => readShellOutput(shell) ?? []);
  return { view, receipts, unsentShellOutputs, lastSeq: numberOf(state.lastSeq) ?? 0 };
}

function readShellOutput(data: unknown): UnsentShellOutput | undefined {
  const shell = SHELL_END.in({ ...PLACE, type: 'custom', customType: 'polypod.shell-end', data });
  return shell && shellOutputIn(shell);
}

function shellOutputIn({
  shellId,
  message,
}: NonNullable<ReturnType<typeof SHELL_END.in>>): UnsentShellOutput {
  return { shellId, message: { role: 'bashExecution', ...message } };
}

const PLACE = { id: stringOf(''), parentId: null, timestamp: '' };

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

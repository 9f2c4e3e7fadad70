import { derivedAbort, messageOf, onAbort, tryParse } from '../base/index.ts';
import { type Content, type Item, readArguments, textContent } from '../llm/index.ts';
import {
  errorOutput,
  type OwnSurroundings,
  type PreparedCall,
  type Tool,
  type ToolOutput,
  type ToolSurroundings,
} from '../tools/index.ts';
import type { Approval, Approve } from './approval.ts';
import type { CallLine, CallStatus, RunEvent } from './event.ts';
import { consult, type Hook } from './hooks.ts';
import { type LoopPolicy, loopVerdict, REFUSAL } from './loop-guard.ts';

export type Call = Extract<Item, { type: 'tool-call' }>;

/** The calls of one turn with what has been decided and done: kept over a pause, so that nothing is asked or run twice. */
export interface Batch {
  readonly calls: readonly Call[];
  readonly decided: Map<string, Decided>;
  readonly finished: Map<string, Finished>;
}

export type Decided =
  | {
      readonly run: PreparedCall;
      readonly line: CallLine;
      readonly parallel: boolean;
      readonly resolve: ToolSurroundings['resolve'];
    }
  | { readonly line: CallLine; readonly refused: Finished };

export interface Finished {
  readonly status: CallStatus;
  readonly output: ToolOutput;
}

export function newBatch(calls: readonly Call[]): Batch {
  return { calls, decided: new Map(), finished: new Map() };
}

/** All that running calls needs of the worker. */
export interface BatchContext {
  readonly tools: readonly Tool[];
  readonly cwd: string;
  readonly approve: Approve;
  readonly hooks: readonly Hook[];
  /** The conversation before this turn, for the loop guard. */
  readonly past: readonly Item[];
  readonly loop: LoopPolicy;
  /** How long a cancelled call may take to end before the run goes on without it. */
  readonly graceMs: number;
  readonly surroundings: (callId: string) => OwnSurroundings;
  /** Whether a person's message wants the rest of the calls to give way. */
  readonly interrupts: () => boolean;
  readonly emit: (events: readonly RunEvent[]) => void;
}

/** Decides every call that is still open, all questions at once; nothing runs before all are answered. */
export async function decideBatch(
  batch: Batch,
  context: BatchContext,
  signal: AbortSignal,
): Promise<'go' | 'paused' | 'loop'> {
  const open = batch.calls.filter(({ callId }) => !batch.decided.has(callId) && !batch.finished.has(callId));
  const verdicts = open.map((call) => loopVerdict(context.past, call, context.loop));
  if (verdicts.includes('stop')) return 'loop';
  const decisions = await Promise.all(
    open.map((call, at) => (verdicts[at] === 'refuse' ? refusedLoop(call) : decide(call, context, signal))),
  );
  for (const [at, decision] of decisions.entries()) {
    const callId = open[at]?.callId;
    if (decision !== undefined && callId !== undefined) batch.decided.set(callId, decision);
  }
  return decisions.includes(undefined) && !signal.aborted ? 'paused' : 'go';
}

/** Undefined: not decided, because somebody wants a pause or the run was cancelled. */
async function decide(call: Call, context: BatchContext, signal: AbortSignal): Promise<Decided | undefined> {
  const tool = context.tools.find(({ name }) => name === call.name);
  if (tool === undefined) return refused(plainLine(call), 'failed', `Tool ${call.name} not found`);
  const input = readArguments(call.arguments);
  if ('reason' in input) return refused(plainLine(call), 'failed', unreadable(call, input));
  const prepared = tool.prepare(input.value, context.cwd);
  if ('invalid' in prepared) return refused(plainLine(call), 'failed', prepared.invalid);
  const line: CallLine = { ...plainLine(call), title: prepared.title };
  const advice = await consult(context.hooks, line, signal);
  if (advice?.decision === 'deny') return refused(line, 'denied', advice.reason);
  if (advice?.decision === 'pause' || signal.aborted) return undefined;
  const approval = await asked(
    context.approve,
    {
      call: line,
      prepared,
      prepare: (args) => tool.prepare(tryParse(args), context.cwd),
      advice,
    },
    signal,
  );
  return approval && decidedBy(approval, tool, prepared, line, context);
}

/** What the model is told about arguments that cannot be read at all. */
function unreadable(
  { name, arguments: args }: Call,
  { problem, reason }: { readonly problem: string; readonly reason: string },
): string {
  if (problem === 'too-deep') return `Validation failed for tool "${name}":\n  - arguments: ${reason}`;
  return `The arguments of this call are not valid JSON:\n${args}`;
}

/** The answer, or undefined when the run is cancelled first. A question that cannot be put is a denial, not a bug. */
async function asked(
  approve: Approve,
  question: Parameters<Approve>[0],
  signal: AbortSignal,
): Promise<Approval | undefined> {
  let forget = (): void => {};
  const cancelled = new Promise<undefined>((resolve) => {
    forget = onAbort(signal, () => resolve(undefined));
  });
  try {
    return await Promise.race([approve(question, signal), cancelled]);
  } catch (thrown) {
    if (signal.aborted) return undefined;
    return { decision: 'deny', reason: `Nobody could be asked for permission: ${messageOf(thrown)}` };
  } finally {
    forget();
  }
}

function decidedBy(
  approval: Approval,
  tool: Tool,
  prepared: PreparedCall,
  line: CallLine,
  context: BatchContext,
): Decided | undefined {
  if (approval.decision === 'pause') return undefined;
  if (approval.decision === 'deny') return refused(line, 'denied', approval.reason);
  const { resolve } = approval;
  if (approval.arguments === undefined) return { run: prepared, line, parallel: tool.parallel, resolve };
  const changed = tool.prepare(tryParse(approval.arguments), context.cwd);
  if ('invalid' in changed) return refused(line, 'failed', changed.invalid);
  const changedLine = { ...line, arguments: approval.arguments, title: changed.title };
  return { run: changed, line: changedLine, parallel: tool.parallel, resolve };
}

/**
 * Runs what was decided: calls that may run side by side do, the others alone. Afterwards every call has a result,
 * whatever happened.
 */
export async function runBatch(batch: Batch, context: BatchContext, signal: AbortSignal): Promise<void> {
  const { controller: stop, release } = derivedAbort(signal);
  const running = new Set<Promise<void>>();
  for (const call of batch.calls) {
    const decided = batch.decided.get(call.callId);
    if (decided === undefined || batch.finished.has(call.callId)) continue;
    const alone = 'refused' in decided || !decided.parallel;
    if (alone) await Promise.all(running);
    if (stop.signal.aborted) break;
    const task = runOne(batch, call, decided, context, {
      signal: stop.signal,
      cancelled: () => signal.aborted,
    }).then(() => {
      running.delete(task);
      if (context.interrupts()) stop.abort();
    });
    running.add(task);
    if (alone) await task;
  }
  await Promise.all(running);
  release();
  for (const call of batch.calls) {
    if (batch.finished.has(call.callId)) continue;
    const line = batch.decided.get(call.callId)?.line ?? plainLine(call);
    context.emit([{ type: 'tool-start', call: line }]);
    finish(batch, line, signal.aborted ? INTERRUPTED : SKIPPED, context);
  }
}

/** Why a call may be stopped: the run is cancelled, or else a person's message came first. */
interface Stopping {
  readonly signal: AbortSignal;
  readonly cancelled: () => boolean;
}

async function runOne(
  batch: Batch,
  call: Call,
  decided: Decided,
  context: BatchContext,
  { signal, cancelled }: Stopping,
): Promise<void> {
  const { line } = decided;
  context.emit([{ type: 'tool-start', call: line }]);
  if ('refused' in decided) {
    finish(batch, line, decided.refused, context);
    return;
  }
  const around: ToolSurroundings = {
    ...context.surroundings(call.callId),
    callId: call.callId,
    cwd: context.cwd,
    resolve: decided.resolve,
    update: (text) => {
      if (!batch.finished.has(call.callId))
        context.emit([{ type: 'tool-update', callId: call.callId, text }]);
    },
  };
  const output = await settled(decided.run.run(around, signal), signal, context.graceMs);
  if (signal.aborted && !cancelled()) finish(batch, line, SKIPPED, context);
  else if (output === undefined) finish(batch, line, INTERRUPTED, context);
  else {
    const status = signal.aborted ? 'interrupted' : output.isError ? 'failed' : 'done';
    finish(batch, line, { status, output: capped(output) }, context);
  }
}

/** The output; undefined when the call was cancelled and does not end. What a tool throws is a failed result. */
async function settled(
  running: Promise<ToolOutput>,
  signal: AbortSignal,
  graceMs: number,
): Promise<ToolOutput | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let forget = (): void => {};
  const givenUp = new Promise<undefined>((resolve) => {
    forget = onAbort(signal, () => {
      timer = setTimeout(resolve, graceMs, undefined);
    });
  });
  try {
    return await Promise.race([running, givenUp]);
  } catch (thrown) {
    return errorOutput(messageOf(thrown));
  } finally {
    forget();
    clearTimeout(timer);
  }
}

function finish(batch: Batch, line: CallLine, finished: Finished, context: BatchContext): void {
  batch.finished.set(line.callId, finished);
  context.emit([{ type: 'tool-end', callId: line.callId, name: line.name, ...finished }]);
}

/** The results of a batch as items, in call order. */
export function resultsOf(batch: Batch): readonly Item[] {
  return batch.calls.flatMap(({ callId }): readonly Item[] => {
    const finished = batch.finished.get(callId);
    if (finished === undefined) return [];
    return [
      { type: 'tool-result', callId, content: finished.output.content, isError: finished.output.isError },
    ];
  });
}

const SKIPPED: Finished = { status: 'skipped', output: errorOutput('Skipped due to queued user message.') };
const INTERRUPTED: Finished = { status: 'interrupted', output: errorOutput('Tool execution was aborted') };

/** The result of a call that a broken or abandoned turn left behind: every call has one. */
export function abandonedResult({ callId }: Call): Item {
  return { type: 'tool-result', callId, content: INTERRUPTED.output.content, isError: true };
}

function refused(line: CallLine, status: CallStatus, text: string): Decided {
  return { line, refused: { status, output: errorOutput(text) } };
}

async function refusedLoop(call: Call): Promise<Decided> {
  return refused(plainLine(call), 'failed', REFUSAL);
}

function plainLine(call: Call): CallLine {
  return { callId: call.callId, name: call.name, arguments: call.arguments, title: call.name };
}

/** Tools cap their own output; this is the net below them. */
const MAX_TEXT = 400_000;

function capped(output: ToolOutput): ToolOutput {
  const fits = output.content.every((part) => part.type !== 'text' || part.text.length <= MAX_TEXT);
  return fits ? output : { ...output, content: output.content.flatMap(cappedPart) };
}

function cappedPart(part: Content): readonly Content[] {
  if (part.type !== 'text' || part.text.length <= MAX_TEXT) return [part];
  return textContent(
    `${part.text.slice(0, MAX_TEXT)}\n[${part.text.length - MAX_TEXT} more characters left out]`,
  );
}

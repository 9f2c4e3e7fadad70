import { messageOf, onAbort, tryParse } from '../base/index.ts';
import { readArguments, type ItemOf } from '../llm/index.ts';
import {
  errorOutput,
  type PreparedCall,
  type Tool,
  type ToolOutput,
  type ToolContext,
} from '../tools/index.ts';
import type { Approval, Approve, PendingApproval } from './approval.ts';
import type { CallLine, CallStatus } from './event.ts';
import { consult, type Hook } from './hooks.ts';

export type Call = ItemOf<'tool-call'>;

export type Decided =
  | {
      readonly run: PreparedCall;
      readonly line: CallLine;
      readonly parallel: boolean;
      readonly resolve: ToolContext['resolve'];
      readonly approved: boolean;
      readonly prepareReadOnly: ToolContext['prepareReadOnly'];
    }
  | { readonly line: CallLine; readonly refused: Finished };

export interface Finished {
  readonly status: CallStatus;
  readonly output: ToolOutput;
}

/** What deciding about a call needs of the worker. */
export interface DecisionContext {
  readonly tools: readonly Tool[];
  readonly cwd: string;
  readonly approve: Approve;
  readonly hooks: readonly Hook[];
}

/** A call for which a person has to be asked. Calling `ask` raises the question before it returns its promise. */
export interface Undecided {
  readonly parallel: boolean;
  readonly ask: () => Promise<Decided | undefined>;
}

/** Decides about a call as far as that takes no person. Undefined: a hook wants a pause, or the run was cancelled. */
export async function judgeCall(
  call: Call,
  context: DecisionContext,
  signal: AbortSignal,
): Promise<Decided | Undecided | undefined> {
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
  const question = {
    call: line,
    prepared,
    prepare: (args: string) => tool.prepare(tryParse(args), context.cwd),
    advice,
  };
  const decidedBy = (approval: Approval | undefined): Decided | undefined =>
    approval && decision(approval, tool, prepared, line, context);
  const approval = await answered(() => context.approve(question, signal), signal);
  if (approval === undefined || !('ask' in approval)) return decidedBy(approval);
  return {
    parallel: tool.parallel,
    ask: async () => decidedBy(await answered(() => approval.ask(), signal)),
  };
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
async function answered<T extends Approval | PendingApproval>(
  ask: () => Promise<T>,
  signal: AbortSignal,
): Promise<T | Approval | undefined> {
  let forget = (): void => {};
  const cancelled = new Promise<undefined>((resolve) => {
    forget = onAbort(signal, () => resolve(undefined));
  });
  try {
    return await Promise.race([ask(), cancelled]);
  } catch (thrown) {
    if (signal.aborted) return undefined;
    return { decision: 'deny', reason: `Nobody could be asked for permission: ${messageOf(thrown)}` };
  } finally {
    forget();
  }
}

function decision(
  approval: Approval,
  tool: Tool,
  prepared: PreparedCall,
  line: CallLine,
  { cwd }: DecisionContext,
): Decided | undefined {
  if (approval.decision === 'pause') return undefined;
  if (approval.decision === 'deny') return refused(line, 'denied', approval.reason);
  const { resolve, approved = false, prepareReadOnly } = approval;
  const { parallel } = tool;
  if (approval.arguments === undefined)
    return { run: prepared, line, parallel, resolve, approved, prepareReadOnly };
  const changed = tool.prepare(tryParse(approval.arguments), cwd);
  if ('invalid' in changed) return refused(line, 'failed', changed.invalid);
  const changedLine = { ...line, arguments: approval.arguments, title: changed.title };
  return { run: changed, line: changedLine, parallel, resolve, approved, prepareReadOnly };
}

export function refused(line: CallLine, status: CallStatus, text: string): Decided {
  // Kept with the result: only so is a denial told from a failure later.
  const details = status === 'denied' ? { denied: true } : undefined;
  return { line, refused: { status, output: errorOutput(text, details) } };
}

export function plainLine(call: Call): CallLine {
  return { callId: call.callId, name: call.name, arguments: call.arguments, title: call.name };
}

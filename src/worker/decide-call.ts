import { messageOf, onAbort, tryParse } from '../base/index.ts';
import { parseArguments, type ItemOf } from '../llm/index.ts';
import {
  errorOutput,
  type PreparedCall,
  type Tool,
  type ToolOutput,
  type ToolContext,
} from '../tools/index.ts';
import type { ApprovalResult, Approve, PendingApproval } from './approval.ts';
import type { CallLine, CallStatus } from './event.ts';
import { consultHooks, type Hook } from './hooks.ts';

export type JudgedCall = ItemOf<'tool-call'>;

export type CallDecision =
  | {
      readonly run: PreparedCall;
      readonly line: CallLine;
      readonly parallel: boolean;
      readonly resolve: ToolContext['resolve'];
      readonly approved: boolean;
      readonly prepareReadOnly: ToolContext['prepareReadOnly'];
    }
  | { readonly line: CallLine; readonly refused: CallOutcome };

export interface CallOutcome {
  readonly status: CallStatus;
  readonly output: ToolOutput;
}

/** What a decision about a call needs from the worker. */
export interface DecisionContext {
  readonly tools: readonly Tool[];
  readonly cwd: string;
  readonly approve: Approve;
  readonly hooks: readonly Hook[];
}

/** A call that a person must decide. `ask` requests the approval before it returns its promise. */
export interface PendingDecision {
  readonly parallel: boolean;
  readonly ask: () => Promise<CallDecision | undefined>;
}

/** Decides about a call as far as possible without a person. Undefined if a hook requests a pause or the run was cancelled. */
export async function judgeCall(
  call: JudgedCall,
  context: DecisionContext,
  signal: AbortSignal,
): Promise<CallDecision | PendingDecision | undefined> {
  const tool = context.tools.find(({ name }) => name === call.name);
  if (tool === undefined) return refuseCall(untitledLine(call), 'failed', `Tool ${call.name} not found`);
  const input = parseArguments(call.arguments);
  if ('reason' in input) return refuseCall(untitledLine(call), 'failed', invalidArgumentsText(call, input));
  const prepared = tool.prepare(input.value, context.cwd);
  if ('invalid' in prepared) return refuseCall(untitledLine(call), 'failed', prepared.invalid);
  const line: CallLine = { ...untitledLine(call), title: prepared.title };
  const advice = await consultHooks(context.hooks, line, signal);
  if (advice?.decision === 'deny') return refuseCall(line, 'denied', advice.reason);
  if (advice?.decision === 'pause' || signal.aborted) return undefined;
  const question = {
    call: line,
    prepared,
    prepare: (args: string) => tool.prepare(tryParse(args), context.cwd),
    advice,
  };
  const toDecision = (approval: ApprovalResult | undefined): CallDecision | undefined =>
    approval && decision(approval, tool, prepared, line, context);
  const approval = await awaitApproval(() => context.approve(question, signal), signal);
  if (approval === undefined || !('ask' in approval)) return toDecision(approval);
  return {
    parallel: tool.parallel,
    ask: async () => toDecision(await awaitApproval(() => approval.ask(), signal)),
  };
}

/** The result for the model if the arguments cannot be parsed. */
function invalidArgumentsText(
  { name, arguments: args }: JudgedCall,
  { problem, reason }: { readonly problem: string; readonly reason: string },
): string {
  if (problem === 'too-deep') return `Validation failed for tool "${name}":\n  - arguments: ${reason}`;
  return `The arguments of this call are not valid JSON:\n${args}`;
}

/** The approval, or undefined if the run is cancelled first. If the request fails, the call is denied. */
async function awaitApproval<T extends ApprovalResult | PendingApproval>(
  ask: () => Promise<T>,
  signal: AbortSignal,
): Promise<T | ApprovalResult | undefined> {
  let removeListener = (): void => {};
  const cancelled = new Promise<undefined>((resolve) => {
    removeListener = onAbort(signal, () => resolve(undefined));
  });
  try {
    return await Promise.race([ask(), cancelled]);
  } catch (thrown) {
    if (signal.aborted) return undefined;
    return { decision: 'deny', reason: `The approval could not be requested: ${messageOf(thrown)}` };
  } finally {
    removeListener();
  }
}

function decision(
  approval: ApprovalResult,
  tool: Tool,
  prepared: PreparedCall,
  line: CallLine,
  { cwd }: DecisionContext,
): CallDecision | undefined {
  if (approval.decision === 'pause') return undefined;
  if (approval.decision === 'deny') return refuseCall(line, 'denied', approval.reason);
  const { resolve, approved = false, prepareReadOnly } = approval;
  const { parallel } = tool;
  if (approval.arguments === undefined)
    return { run: prepared, line, parallel, resolve, approved, prepareReadOnly };
  const changed = tool.prepare(tryParse(approval.arguments), cwd);
  if ('invalid' in changed) return refuseCall(line, 'failed', changed.invalid);
  const changedLine = { ...line, arguments: approval.arguments, title: changed.title };
  return { run: changed, line: changedLine, parallel, resolve, approved, prepareReadOnly };
}

export function refuseCall(line: CallLine, status: CallStatus, text: string): CallDecision {
  // Stored with the result, to distinguish a denial from a failure later.
  const details = status === 'denied' ? { denied: true } : undefined;
  return { line, refused: { status, output: errorOutput(text, details) } };
}

export function untitledLine(call: JudgedCall): CallLine {
  return { callId: call.callId, name: call.name, arguments: call.arguments, title: call.name };
}

import { messageOf } from '../base/index.ts';
import type { CallLine, RunEvent } from './event.ts';

/**
 * How the outside may take part: it sees every event and has a say in every call. It gets copies, so that it cannot edit
 * the conversation, and it cannot allow what the policy denies.
 */
export interface Hook {
  readonly name: string;
  readonly observe?: (event: RunEvent) => void;
  readonly beforeTool?: (call: Readonly<CallLine>, signal: AbortSignal) => Promise<HookVerdict | undefined>;
}

export interface HookVerdict {
  readonly decision: 'allow' | 'deny' | 'ask' | 'pause';
  readonly reason: string;
}

/** The strictest of all opinions; undefined when nobody has one. */
export async function consult(
  hooks: readonly Hook[],
  call: CallLine,
  signal: AbortSignal,
): Promise<HookVerdict | undefined> {
  const verdicts = await Promise.all(hooks.map((hook) => opinionOf(hook, call, signal)));
  return verdicts
    .filter((verdict) => verdict !== undefined)
    .toSorted((a, b) => STRICTNESS.indexOf(a.decision) - STRICTNESS.indexOf(b.decision))[0];
}

const STRICTNESS: readonly HookVerdict['decision'][] = ['deny', 'pause', 'ask', 'allow'];

async function opinionOf(hook: Hook, call: CallLine, signal: AbortSignal): Promise<HookVerdict | undefined> {
  try {
    return await hook.beforeTool?.({ ...call }, signal);
  } catch (thrown) {
    // A guard that fails must not open the door: a person is asked instead.
    return { decision: 'ask', reason: `the hook ${hook.name} failed: ${messageOf(thrown)}` };
  }
}

/** Events go to their owner first, then to the hooks that only look; one that fails is told of, and disturbs nobody. */
export function observedBy(
  hooks: readonly Hook[],
  emit: (events: readonly RunEvent[]) => void,
): (events: readonly RunEvent[]) => void {
  const watching = hooks.filter((hook) => hook.observe !== undefined);
  if (watching.length === 0) return emit;
  return (events) => {
    emit(events);
    for (const hook of watching) for (const event of events) tell(hook, event);
  };
}

function tell(hook: Hook, event: RunEvent): void {
  try {
    hook.observe?.(event);
  } catch (thrown) {
    process.emitWarning(`the hook ${hook.name} failed on ${event.type}: ${messageOf(thrown)}`);
  }
}

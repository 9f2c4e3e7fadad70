import { messageOf } from '../base/index.ts';
import type { CallLine, RunEvent } from './event.ts';

/**
 * Observes all events and gives a verdict on every call. A hook receives copies, so that it cannot change the
 * conversation, and it cannot allow what the policy denies.
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

/** The strictest verdict of all hooks; undefined if none has one. */
export async function consultHooks(
  hooks: readonly Hook[],
  call: CallLine,
  signal: AbortSignal,
): Promise<HookVerdict | undefined> {
  const verdicts = await Promise.all(hooks.map((hook) => hookVerdict(hook, call, signal)));
  return verdicts
    .filter((verdict) => verdict !== undefined)
    .toSorted((a, b) => STRICTNESS.indexOf(a.decision) - STRICTNESS.indexOf(b.decision))[0];
}

const STRICTNESS: readonly HookVerdict['decision'][] = ['deny', 'pause', 'ask', 'allow'];

async function hookVerdict(
  hook: Hook,
  call: CallLine,
  signal: AbortSignal,
): Promise<HookVerdict | undefined> {
  try {
    return await hook.beforeTool?.({ ...call }, signal);
  } catch (thrown) {
    // A failing hook must not allow the call: ask the user instead.
    return { decision: 'ask', reason: `the hook ${hook.name} failed: ${messageOf(thrown)}` };
  }
}

/** Emits events to the owner first, then to the observing hooks. A failing hook causes a process warning and nothing else. */
export function withObservers(
  hooks: readonly Hook[],
  emit: (events: readonly RunEvent[]) => void,
): (events: readonly RunEvent[]) => void {
  const observers = hooks.filter((hook) => hook.observe !== undefined);
  if (observers.length === 0) return emit;
  return (events) => {
    emit(events);
    for (const hook of observers) for (const event of events) notifyHook(hook, event);
  };
}

function notifyHook(hook: Hook, event: RunEvent): void {
  try {
    hook.observe?.(event);
  } catch (thrown) {
    process.emitWarning(`the hook ${hook.name} failed on ${event.type}: ${messageOf(thrown)}`);
  }
}

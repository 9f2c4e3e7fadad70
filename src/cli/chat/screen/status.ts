import { dollars } from '../../output/dollars.ts';
import { displayWidth } from '../../../terminal/index.ts';
import type { View } from '../view/view.ts';

/** The two sides of the status line, shortened to fit: session and state; context use and cost. */
export function statusTexts(
  view: View,
  defaultMode: string | undefined,
  columns: number,
): { readonly left: string; readonly right: string } {
  const sides = [
    { left: sessionText(view, defaultMode, 'full'), right: figures(view, 'full') },
    { left: sessionText(view, defaultMode, 'full'), right: figures(view, 'short') },
    { left: sessionText(view, defaultMode, 'short'), right: figures(view, 'short') },
  ];
  const least = { left: sessionText(view, defaultMode, 'least'), right: figures(view, 'short') };
  return sides.find(({ left, right }) => displayWidth(left) + 2 + displayWidth(right) <= columns) ?? least;
}

type Length = 'full' | 'short' | 'least';

/** The name of the session, the model, the mode, and the state of the pod. */
function sessionText(view: View, defaultMode: string | undefined, length: Length): string {
  const { settings, model, approvals, background } = view;
  const state = view.isAway ? 'away' : view.state;
  const { name, thinking } = settings;
  const mode = settings.mode ?? defaultMode;
  return [
    ...(name === undefined || length === 'least' ? [] : [name]),
    length === 'full' ? `${model.provider}/${model.modelId}` : model.modelId,
    ...(thinking === undefined || thinking === 'off' || length === 'least' ? [] : [`thinking ${thinking}`]),
    ...(mode === undefined ? [] : [mode]),
    ...(background.length === 0
      ? []
      : [`${background.length}${length === 'full' ? ' in background' : ' bg'}`]),
    approvals.length > 1 && !view.isAway ? `${approvals.length} questions` : state,
  ].join(' · ');
}

/** The context use and the cost of the conversation. */
function figures({ contextTokens, contextWindow, totals }: View, length: Length): string {
  const share =
    contextWindow === undefined ? undefined : `${Math.round((100 * contextTokens) / contextWindow)}%`;
  const tokens = `${compactCount(contextTokens)} tokens`;
  const full = share === undefined ? tokens : `${tokens} (${share})`;
  const context = length === 'full' ? full : (share ?? tokens);
  const cost = totals.cost === undefined || totals.cost === 0 ? [] : [dollars(totals.cost)];
  return [...(contextTokens === 0 ? [] : [context]), ...cost].join(' · ');
}

/** Formats a count: 950, 1.2k, 34k, 1.2M. */
export function compactCount(count: number): string {
  if (count < 1000) return `${count}`;
  const [amount, unit] = count < 1_000_000 ? [count / 1000, 'k'] : [count / 1_000_000, 'M'];
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)}${unit}`;
}

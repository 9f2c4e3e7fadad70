import type { View } from './view.ts';

/** Where one is: the session's name, the model, the mode, and what the pod does. */
export function whereOneIs(view: View, usualMode: string | undefined): string {
  const { settings, model, state, approvals } = view;
  const mode = settings.mode ?? usualMode;
  const waits = approvals.length > 1 ? `${approvals.length} questions` : state;
  return [
    ...(settings.name === undefined ? [] : [settings.name]),
    `${model.provider}/${model.modelId}`,
    ...(settings.thinking === undefined || settings.thinking === 'off'
      ? []
      : [`thinking ${settings.thinking}`]),
    ...(mode === undefined ? [] : [mode]),
    waits,
  ].join(' · ');
}

/** How full the context is and what the conversation has cost. */
export function figures({ contextTokens, contextWindow, totals }: View): string {
  const share = contextWindow === undefined ? '' : ` (${Math.round((100 * contextTokens) / contextWindow)}%)`;
  const context = contextTokens === 0 ? [] : [`${inShort(contextTokens)} tokens${share}`];
  const cost = totals.cost === undefined || totals.cost === 0 ? [] : [dollars(totals.cost)];
  return [...context, ...cost].join(' · ');
}

export function dollars(amount: number): string {
  return `$${amount.toFixed(amount < 0.1 ? 4 : 2)}`;
}

/** 950, 1.2k, 34k, 1.2M. */
export function inShort(count: number): string {
  if (count < 1000) return `${count}`;
  const [amount, unit] = count < 1_000_000 ? [count / 1000, 'k'] : [count / 1_000_000, 'M'];
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)}${unit}`;
}

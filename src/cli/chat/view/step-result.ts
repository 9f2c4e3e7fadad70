import type { PodEvent, PodEventOf } from '../../../pod/index.ts';
import type { Print } from './print.ts';
import type { View } from './view.ts';

export interface StepResult {
  readonly view: View;
  readonly prints: readonly Print[];
}

/** The changes of the view by an event, and what it prints. */
export type Step<T extends PodEvent['type']> = (
  view: View,
  event: PodEventOf<T>,
  now: number,
) => Partial<View> & { readonly prints?: readonly Print[] };

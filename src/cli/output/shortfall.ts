import { type Shortfall, SHORTFALL_REASONS } from '../../llm/index.ts';

/** Explains why an answer is incomplete, with the next step, in one line. `steps` are those of one command. */
export function explainShortfall(shortfall: Shortfall, steps: Readonly<Record<Shortfall, string>>): string {
  return `${SHORTFALL_REASONS[shortfall]}; ${steps[shortfall]}`;
}

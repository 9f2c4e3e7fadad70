/** Formats a cost: with four decimals if it is small. Everything that shows a cost uses it, so that the same cost looks the same. */
export function dollars(amount: number): string {
  return `$${amount.toFixed(amount < 0.1 ? 4 : 2)}`;
}

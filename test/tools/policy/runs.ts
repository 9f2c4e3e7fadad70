/** How many cases a random test tries; POLYPOD_FUZZ=10 multiplies them. */
export function runsOf(usual: number): number {
  const factor = Number(process.env['POLYPOD_FUZZ'] ?? '1');
  return Math.ceil(usual * (Number.isFinite(factor) && factor > 0 ? factor : 1));
}

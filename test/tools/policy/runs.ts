/** How many cases of a random test are tried: more with POLYPOD_FUZZ=10, for who has the time. */
export function runsOf(usual: number): number {
  const factor = Number(process.env['POLYPOD_FUZZ'] ?? '1');
  return Math.ceil(usual * (Number.isFinite(factor) && factor > 0 ? factor : 1));
}

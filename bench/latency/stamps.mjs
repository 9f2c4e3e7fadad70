const DELTA = /"event":"text_delta","data":\{"text":"at (\d+);"/g;

/** The text of a delta that is written now. The clock is the machine's: all its processes read the same. */
export function stamp() {
  return `at ${process.hrtime.bigint()};`;
}

/** How long ago a stamp was made, in milliseconds. */
export function ageOf(text, now) {
  return Number(now - BigInt(text.slice('at '.length, -1))) / 1e6;
}

/** The ages of the deltas in some lines of the Pod Protocol. */
export function agesIn(lines, now) {
  return Array.from(lines.matchAll(DELTA), ([, made]) => Number(now - BigInt(made)) / 1e6);
}

const DELTA = /"event":"text_delta","data":\{"text":"at (\d+);"/g;

/** The text of a delta with the current time, from the clock that all processes of a machine share. */
export function stamp() {
  return `at ${process.hrtime.bigint()};`;
}

/** The age of a stamp in milliseconds. */
export function ageOf(text, now) {
  return Number(now - BigInt(text.slice('at '.length, -1))) / 1e6;
}

/** The ages of the deltas in some lines of the Pod Protocol. */
export function agesIn(lines, now) {
  return Array.from(lines.matchAll(DELTA), ([, made]) => Number(now - BigInt(made)) / 1e6);
}

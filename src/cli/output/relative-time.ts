const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];

/** A span of time in one unit, for a column of a table. */
export function span(seconds: number): string {
  const [size, name] = UNITS.find(([least]) => seconds >= least) ?? [1, 's'];
  return `${Math.floor(Math.max(0, seconds) / size)} ${name}`;
}

/** How long ago a time was. */
export function relativeTime(time: string, now: Date): string {
  return span((now.getTime() - Date.parse(time)) / 1000);
}

const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];

/** Formats a duration in one unit, for a table column. */
export function span(seconds: number): string {
  const [size, name] = UNITS.find(([least]) => seconds >= least) ?? [1, 's'];
  return `${Math.floor(Math.max(0, seconds) / size)} ${name}`;
}

/** Formats the time since a date. */
export function relativeTime(time: string, now: Date): string {
  return span((now.getTime() - Date.parse(time)) / 1000);
}

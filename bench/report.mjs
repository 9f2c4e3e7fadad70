/** A bar: what was measured, what it may be at most, and whether it is. Nothing measured is a bar that does not hold. */
export function atMost(name, value, bar) {
  return { name, value: rounded(value), bar, holds: value <= bar };
}

export function below(name, value, bar) {
  return { name, value: rounded(value), bar, holds: value < bar };
}

export function printBars(bars) {
  const rows = bars.map(({ name, value, bar, holds }) => [
    name,
    value ?? 'not measured',
    bar,
    holds ? 'holds' : 'MISSED',
  ]);
  console.log(table(['bar', 'value', 'at most', ''], rows));
}

/** The last line of every benchmark, for programs; `bench/all.mjs` reads it. */
export function printResult(bench, bars) {
  console.log(JSON.stringify({ bench, bars }));
  process.exitCode = bars.every(({ holds }) => holds) ? 0 : 1;
}

/** Columns as wide as they need to be, the first one to the left and numbers to the right. */
export function table(head, rows) {
  const lines = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => pad(cell, widths[column], column))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Three digits are more than the noise leaves. */
export function figure(value) {
  if (value === undefined) return '-';
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function rounded(value) {
  return Number.isFinite(value) ? Number(value.toPrecision(3)) : null;
}

function pad(cell, width, column) {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

/** A bar: the measured value, its maximum, and whether it holds. A missing value misses the bar. */
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

/** The last line of every benchmark, for programs; `bench/all.mjs` parses it. */
export function printResult(bench, bars) {
  console.log(JSON.stringify({ bench, bars }));
  process.exitCode = bars.every(({ holds }) => holds) ? 0 : 1;
}

/** Renders a table: the first column left-aligned, numbers right-aligned. */
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

/** More than three digits would be noise. */
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

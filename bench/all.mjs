// Runs every benchmark of package.json, one after the other: node bench/all.mjs [--quick]. Prints their output, then one line for
// each bar. Exits with 1 if a bar is missed or a benchmark fails.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { lastLine } from './child.mjs';
import { table } from './report.mjs';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const names = Object.keys(scripts).filter((name) => name.startsWith('bench:'));

const results = [];
for (const name of names) {
  console.log(`\n# ${name}`);
  results.push({ name, ...(await run(name)) });
}

console.log('\n# summary');
console.log(table(['', 'value', 'bar', ''], results.flatMap(rowsOf)));
const missed = results.flatMap(({ bars }) => bars).filter(({ holds }) => !holds).length;
const broken = results.filter(({ problem }) => problem !== undefined).length;
console.log(`${results.length} benchmarks, ${missed} bars missed, ${broken} broken`);
process.exitCode = missed + broken > 0 ? 1 : 0;

function run(name) {
  const args = ['run', '--silent', name, ...(options.quick ? ['--', '--quick'] : [])];
  const child = spawn('npm', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (piece) => {
    out += piece;
    process.stdout.write(piece);
  });
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ bars: [], problem: error.message }));
    child.on('close', (code) => resolve(resultOf(out, code)));
  });
}

/** Parses the result line, the last line of a benchmark. A benchmark that fails without a missed bar is broken. */
function resultOf(out, code) {
  try {
    const { bars } = JSON.parse(lastLine(out));
    const explained = code === 0 || bars.some(({ holds }) => !holds);
    return explained ? { bars } : { bars, problem: `exit code ${code}` };
  } catch {
    return { bars: [], problem: `no result, exit code ${code}` };
  }
}

function rowsOf({ name, bars, problem }) {
  const rows = bars.map((bar) => [
    `${name}  ${bar.name}`,
    bar.value ?? 'not measured',
    bar.bar,
    bar.holds ? 'holds' : 'MISSED',
  ]);
  if (problem !== undefined) return [...rows, [name, problem, '', 'BROKEN']];
  return rows.length > 0 ? rows : [[name, '', '', 'no bars']];
}

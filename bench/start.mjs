// Measures how long commands take from their start: node bench/start.mjs [--quick]
//
// Every figure is the wall-clock time of a new process of the built program, in turns with a Node process that does nothing and
// with the floor host. The minimum is used, because noise only adds time. From the second round on, `serve`, `run` and RPC mode find
// their compiled code in the cache directory; one row is without it. The run has two turns, including the pauses of the simulated
// model, so it has a figure but no bar.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { requireBuild } from './built.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { writeCatalogue } from './start/catalogue.mjs';

requireBuild();
const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
const ROUNDS = options.quick ? 5 : 25;
const FLOOR = fileURLToPath(new URL('floor/host.mjs', import.meta.url));
const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'polypod-start-'));
const socket = join(home, 'floor.sock');
const listed = join(home, 'listed');
await writeCatalogue(listed, 1000);

const SERVE = [MAIN, 'serve', '--offline', '--quiet', '--json'];

/** Measured until the process ends, or until it has printed a text. */
const CASES = [
  { name: 'node, doing nothing', args: ['-e', '0'] },
  {
    name: 'floor host, ready',
    args: [FLOOR, socket, 'http://127.0.0.1:9', home],
    until: /ready/,
  },
  { name: 'polypod --version', args: [MAIN, '--version'] },
  { name: 'polypod ls, 1,000 sessions', args: [MAIN, 'ls', '--data-dir', listed] },
  {
    name: 'polypod serve, ready',
    args: SERVE,
    until: /"socket"/,
  },
  {
    name: 'polypod serve, ready, code not cached',
    args: SERVE,
    until: /"socket"/,
    env: { NODE_DISABLE_COMPILE_CACHE: '1' },
  },
  {
    name: 'polypod --mode rpc, first answer',
    args: [MAIN, '--mode', 'rpc'],
    until: /"type":"response"/,
    input: '{"id":"1","type":"get_state"}\n',
    env: { ANTHROPIC_API_KEY: 'any' },
  },
  { name: 'polypod run --offline, answered', args: [MAIN, 'run', '--offline', '-q', 'Hello'] },
];

const figures = CASES.map(() => []);
try {
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, { name, args, ...rest }] of CASES.entries()) {
      // The floor host does not remove its socket.
      rmSync(socket, { force: true });
      const ms = await timed(args, rest);
      figures[at].push(ms);
      console.error(`round ${round + 1}/${ROUNDS}  ${name}  ${figure(ms)} ms`);
    }
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}

const best = figures.map((values) => Math.min(...values));
const [node, floor, version, ls, serve, , rpc] = best;
console.log(
  `${table(
    ['ms', 'smallest', 'x node', 'x floor host', 'x --version'],
    CASES.map(({ name }, at) => {
      const ms = best[at];
      return [name, figure(ms), figure(ms / node), figure(ms / floor), figure(ms / version)];
    }),
  )}\n`,
);
const bars = [
  atMost('--version / node', version / node, 2),
  // In relation to --version, this bar would get harder whenever --version gets faster.
  atMost('ls with 1,000 sessions / node', ls / node, 3),
  atMost('serve to ready / floor host', serve / floor, 3),
  atMost('rpc to its first answer / floor host', rpc / floor, 3),
];
printBars(bars);
printResult('start', bars);

/** Milliseconds from the start to the end, or to the expected output; then the process is stopped. */
function timed(args, { until, input, env }) {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(process.execPath, args, {
      cwd: home,
      // A certificate bundle in the environment more than doubles the start of Node itself.
      env: { PATH: process.env.PATH, HOME: home, OLLAMA_HOST: 'http://127.0.0.1:9', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    if (input !== undefined) child.stdin.write(input);
    let [out, errors, took] = ['', '', undefined];
    child.stdout.on('data', (piece) => {
      out += piece;
      if (took !== undefined || until === undefined || !until.test(out)) return;
      took = performance.now() - start;
      child.stdin.end();
      child.kill('SIGTERM');
    });
    child.stderr.on('data', (piece) => (errors += piece));
    child.on('error', reject);
    // A prompt is an argument; only the floor host ends with its input.
    if (until === undefined) child.stdin.end();
    child.on('close', (code) => {
      if (took === undefined && code !== 0)
        reject(new Error(`${args.join(' ')}: exit code ${code}: ${errors}`));
      else resolve(took ?? performance.now() - start);
    });
  });
}

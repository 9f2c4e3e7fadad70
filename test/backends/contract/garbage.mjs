// Runs an agent and adds lines to its output that no protocol has.
import { spawn } from 'node:child_process';

const [program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
process.stdin.pipe(child.stdin);
const GARBAGE = ['', 'Warning: something is deprecated', '{"type":', '[]', 'null', '{"unknown":{"a":[1,2]}}'];
let rest = '';
child.stdout.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) process.stdout.write(`${GARBAGE.join('\n')}\n${line}\n`);
});
child.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal));

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const LIMIT_MS = 120_000;

/**
 * Runs a module in a new process and resolves with the last line of its output, parsed: candidates share no heap, compiled code
 * or patched globals. Rejects with the reason if it fails.
 */
export function runChild(module, args, { flags = [] } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, fileURLToPath(module), ...args.map(String)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let errors = '';
    child.stdout.on('data', (piece) => (out += piece));
    child.stderr.on('data', (piece) => (errors += piece));
    const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(JSON.parse(lastLine(out)));
      else reject(new Error(code === null ? `no result within ${LIMIT_MS / 1000} s` : reasonIn(errors)));
    });
  });
}

export function lastLine(text) {
  return text.trimEnd().split('\n').at(-1) ?? '';
}

function reasonIn(errors) {
  return errors.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? errors.slice(-300);
}

// The CPU use of `polypod serve` after a session was used and all clients have left: node idle-daemon.mjs
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { scratch } from '../floor/processes.mjs';
import { idleOf } from './idle-process.mjs';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const home = scratch();
const options = {
  cwd: home,
  env: { PATH: process.env.PATH, HOME: home, OLLAMA_HOST: 'http://127.0.0.1:9' },
};

const daemon = spawn(process.execPath, [MAIN, 'serve', '--offline', '--quiet', '--json'], {
  ...options,
  stdio: ['ignore', 'pipe', 'inherit'],
});
await createInterface({ input: daemon.stdout })[Symbol.asyncIterator]().next();
spawnSync(process.execPath, [MAIN, 'run', '--offline', '-q', 'Hello'], options);
console.log(JSON.stringify(await idleOf(daemon.pid)));
daemon.kill();
daemon.once('exit', () => process.exit(0));

// Measures the CPU of the daemon and of an agent for one long answer: node point.mjs <agent> <deltas>
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AGENTS, agentCommand } from '../../scripts/agents/agents.mjs';
import { scratch, startProvider } from '../floor/processes.mjs';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const TICK_MS = 10;

const [name, count] = process.argv.slice(2);
const home = scratch();
const project = join(home, 'project');
mkdirSync(project);
const url = await startProvider();
const env = AGENTS[name].prepare(home, url);
const config = {
  version: 1,
  titles: 'off',
  backend: name,
  backends: { [name]: { command: agentCommand(name), env } },
};
const configFile = join(home, 'config.yaml');
writeFileSync(configFile, JSON.stringify(config), { mode: 0o600 });
const context = {
  cwd: project,
  env: { PATH: process.env.PATH, HOME: home, USER: 'bench', POLYPOD_CONFIG: configFile },
};

// BENCH_FLAGS are Node.js flags for the daemon, such as --cpu-prof.
const flags = process.env.BENCH_FLAGS?.split(' ') ?? [];
const daemon = spawn(process.execPath, [...flags, MAIN, 'serve', '--json'], {
  ...context,
  stdio: ['ignore', 'pipe', 'ignore'],
});
process.on('exit', () => daemon.kill('SIGTERM'));
await new Promise((resolve) => daemon.stdout.once('data', resolve));
const session = (await polypod('new')).trim();
await polypod('run', '--resume', session, '--json', prompt(20));
const agent = agentProcess();
const before = { daemon: cpuMs(daemon.pid), agent: treeCpuMs(agent) };
const output = await polypod('run', '--resume', session, '--json', prompt(Number(count)));
const after = { daemon: cpuMs(daemon.pid), agent: treeCpuMs(agent) };
const deltas = output.split('\n').filter((line) => line.includes('"type":"block-delta"'));
const characters = deltas.reduce((sum, line) => sum + (JSON.parse(line).delta.text ?? '').length, 0);
if (characters < Number(count) * 20) throw new Error(`only ${characters} characters came`);
console.log(
  JSON.stringify({
    agentMs: after.agent - before.agent,
    daemonMs: after.daemon - before.daemon,
    events: deltas.length,
  }),
);
daemon.kill('SIGTERM');
await new Promise((resolve) => daemon.once('exit', resolve));
process.exit(0);

function prompt(deltas) {
  return `[[sim deltas=${deltas} size=20]]`;
}

function polypod(...args) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    ...context,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => (out += piece));
  return new Promise((resolve, reject) => {
    child.on('close', (code) =>
      code === 0 ? resolve(out) : reject(new Error(`polypod ${args[0]}: exit ${code}`)),
    );
  });
}

/** The program that the daemon has recorded. */
function agentProcess() {
  const directory = join(home, '.local/share/polypod/commands');
  for (const file of readdirSync(directory)) {
    const { callId, root } = JSON.parse(readFileSync(join(directory, file), 'utf8'));
    if (callId === 'agent') return root.pid;
  }
  throw new Error('the agent is not running');
}

function statOf(pid) {
  const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = rest.split(' ');
  return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
}

function cpuMs(pid) {
  return statOf(pid).ticks * TICK_MS;
}

/** The CPU time of a process and all its descendants. */
function treeCpuMs(root) {
  const processes = new Map();
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)))
    try {
      processes.set(Number(pid), statOf(pid));
    } catch {
      // It has ended.
    }
  const members = new Set([root]);
  for (const member of members)
    for (const [pid, { parent }] of processes) if (parent === member) members.add(pid);
  return [...members].reduce((sum, pid) => sum + (processes.get(pid)?.ticks ?? 0) * TICK_MS, 0);
}

// What Polypod adds to the work of another agent: node bench/agents.mjs [--quick] [--agents claude,codex]
//
// The agents are real programs from npm (node scripts/agents/install.mjs). Simulated provider, agent, daemon and client are four processes. A
// short answer first starts everything; then one answer of 20,000 deltas is measured. The overhead is the CPU time of the daemon in
// relation to that of the agent and its descendants for the same answer. Every round has new processes.
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { AGENTS, agentCommand } from '../scripts/agents/agents.mjs';
import { requireBuild } from './built.mjs';
import { runChild } from './child.mjs';
import { atMost, figure, printBars, printResult, table } from './report.mjs';
import { median } from './statistics.mjs';

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, agents: { type: 'string' } },
});
requireBuild();
const POINT = new URL('agents/point.mjs', import.meta.url);
const DELTAS = 20_000;
const rounds = options.quick ? 1 : 5;
const wanted = options.agents?.split(',') ?? Object.keys(AGENTS);
const names = wanted.filter((name) => agentCommand(name).every((part) => existsSync(part)));
if (names.length === 0) {
  console.error('No agent is installed. Run: node scripts/agents/install.mjs claude codex');
  process.exit(1);
}
const figures = Object.fromEntries(names.map((name) => [name, []]));
for (let round = 0; round < rounds; round++)
  for (const name of names) {
    const point = await runChild(POINT, [name, DELTAS]);
    figures[name].push(point);
    console.error(
      `round ${round + 1}/${rounds}  ${name}: agent ${point.agentMs} ms, daemon ${point.daemonMs} ms`,
    );
  }
const middle = (name, what) => median(figures[name].map((point) => point[what]));
const ratio = (name) => median(figures[name].map(({ agentMs, daemonMs }) => daemonMs / agentMs));
const rows = names.map((name) => [
  name,
  figure(middle(name, 'agentMs')),
  figure(middle(name, 'daemonMs')),
  figure((middle(name, 'daemonMs') * 1000) / DELTAS),
  figure(middle(name, 'events')),
  figure(ratio(name)),
]);
console.log(
  `${table(['agent', 'agent, CPU ms', 'daemon, CPU ms', 'daemon, µs per delta', 'delta events', 'ratio'], rows)}\n`,
);
const bars = names.map((name) => atMost(`${name}: daemon / agent at ${DELTAS} deltas`, ratio(name), 0.15));
printBars(bars);
printResult('agents', bars);
process.exit();

// Runs the contract of the back ends for our own worker and for real agents, and prints a table: npm run proof:agents [-- OPTIONS]
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { firstLine, runVitest } from '../run-tests.mjs';
import { AGENTS } from './agents.mjs';
import { installAgent } from './install.mjs';

const USAGE = `Usage: npm run proof:agents -- [OPTIONS]

Installs the agents that are missing, runs the same tests for Polypod's own worker and for each of them, against the
provider simulator, and prints a table. The program must be built (npm run build).

  --agents NAMES   only these, separated by commas: ${['polypod', ...Object.keys(AGENTS)].join(', ')}
  --json           print one JSON object instead of the table
  --help           print this text

Exit codes: 0 all tests passed, 1 a test failed or an agent could not be installed, 2 usage error.
`;
const CONTRACT = 'test/backends/contract/contract.test.ts';
const PROGRAM = 'dist/cli/main.js';
const RESULTS = { passed: 'ok', failed: 'FAILED' };

process.exitCode = main();

function main() {
  const { values, problem } = options();
  if (problem !== undefined) return refuse(problem);
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const known = ['polypod', ...Object.keys(AGENTS)];
  const names = values.agents?.split(',') ?? known;
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) return refuse(`unknown: ${unknown.join(', ')}. Choose from ${known.join(', ')}.`);
  if (!existsSync(PROGRAM)) return refuse(`there is no ${PROGRAM}: run npm run build first.`);
  const proof = prove(names);
  process.stdout.write(values.json ? `${JSON.stringify(proof, null, 2)}\n` : formatted(proof));
  return proof.failed > 0 || proof.agents.some(({ installed }) => !installed) ? 1 : 0;
}

function options() {
  const text = { type: 'string' };
  const flag = { type: 'boolean' };
  try {
    return parseArgs({ options: { agents: text, json: flag, help: flag } });
  } catch (error) {
    return { problem: error.message };
  }
}

function refuse(problem) {
  process.stderr.write(`${problem}\n\n${USAGE}`);
  return 2;
}

/** Installs the agents and runs the contract. An agent that cannot be installed is skipped. */
function prove(names) {
  const agents = names.map((name) => ({
    name,
    version: versionOf(name),
    installed: name === 'polypod' || installAgent(name),
  }));
  const { status, result } = runVitest([CONTRACT], {
    // Only the result is printed on stdout.
    stdio: ['ignore', 2, 2],
    env: { ...process.env, POLYPOD_AGENTS: names.join(',') },
  });
  const tests = new Map();
  const failures = [];
  for (const file of result.testResults) {
    if (file.status === 'failed' && file.assertionResults.length === 0)
      failures.push(firstLine(file.message));
    for (const { ancestorTitles, title, status: outcome, failureMessages } of file.assertionResults) {
      const [agent] = ancestorTitles;
      tests.set(title, { ...tests.get(title), [agent]: RESULTS[outcome] ?? 'skipped' });
      if (outcome === 'failed') failures.push(`${agent}, ${title}: ${firstLine(failureMessages[0])}`);
    }
  }
  if (status !== 0 && failures.length === 0) failures.push('vitest itself: its errors are above');
  const rows = [...tests].map(([title, results]) => ({ title, results }));
  return { agents, tests: rows, passed: result.numPassedTests, failed: failures.length, failures };
}

function versionOf(name) {
  if (name === 'polypod') return JSON.parse(readFileSync('package.json', 'utf8')).version;
  const [first] = AGENTS[name].packages;
  return first.slice(first.lastIndexOf('@') + 1);
}

/** A Markdown table, as in docs/backends.md. */
function formatted({ agents, tests, passed, failed, failures }) {
  const heading = agents.map(({ name, version, installed }) =>
    installed ? `${name} ${version}` : `${name} ${version} (not installed)`,
  );
  const rows = tests.map(({ title, results }) => [
    title,
    ...agents.map(({ name }) => results[name] ?? 'skipped'),
  ]);
  const table = [['test', ...heading], ...rows];
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |\n`;
  const rule = line(widths.map((width) => '-'.repeat(width)));
  const [first, ...rest] = table.map(line);
  const reasons = failures.map((failure) => `failed: ${failure}\n`).join('');
  return `${first}${rule}${rest.join('')}\n${reasons}${passed} passed, ${failed} failed\n`;
}

// Measures the start of agents that speak the protocol: from spawn to the response to `initialize`, to the response to
// `session/new`, and to the first words of the answer to a prompt. Every figure comes from a new process with a new home directory;
// the agents take turns. The minimum is used, because noise only adds time. All use one provider process. The row with the daemon
// uses one that is ready before the first round.
import { start } from '../floor/processes.mjs';
import { atMost, figure, table } from '../report.mjs';
import { Agent, installedPeers, installPeers, PEERS, polypod, polypodWithDaemon } from './agents.mjs';

const PROVIDER = new URL('provider.mjs', import.meta.url);

/** Prints the figures and returns the bars. Without a directory of peers, their bar is not measured. */
export async function benchStart({ rounds, peers }) {
  if (peers !== undefined) await installPeers(peers);
  const names = peers === undefined ? [] : installedPeers(peers);
  const { output } = await start(PROVIDER);
  const withDaemon = await polypodWithDaemon(output.url);
  const agents = {
    polypod: () => polypod(output.url),
    'polypod with daemon': () => withDaemon,
    ...Object.fromEntries(names.map((name) => [name, () => PEERS[name].start(peers, output.url)])),
  };
  const figures = Object.fromEntries(Object.keys(agents).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++)
    for (const [name, options] of Object.entries(agents)) {
      const measured = await startOf(options()).catch(({ message }) => console.error(`${name}: ${message}`));
      if (measured === undefined) continue;
      figures[name].push(measured);
      console.error(`round ${round + 1}/${rounds}  ${name}  ${measured.map(figure).join('  ')} ms`);
    }
  const best = (name, at) => Math.min(...figures[name].map((values) => values[at]));
  const measured = Object.keys(figures).filter((name) => figures[name].length > 0);
  const rows = measured.map((name) => [name, ...[0, 1, 2].map((at) => figure(best(name, at)))]);
  console.log(`${table(['ms from the start', 'initialize', 'session/new', 'first delta'], rows)}\n`);
  const others = measured.filter((name) => !name.startsWith('polypod')).map((name) => best(name, 2));
  if (others.length > 0)
    return [atMost('first delta / best peer', best('polypod', 2) / Math.min(...others), 0.333)];
  console.log('first delta / best peer: not measured; --peers DIRECTORY installs and measures them\n');
  return [];
}

const LIMIT_MS = 60_000;

async function startOf(options) {
  const began = performance.now();
  const agent = new Agent(options);
  const ms = () => performance.now() - began;
  const tooLong = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`no answer within ${LIMIT_MS / 1000} s`)), LIMIT_MS).unref();
  });
  const measure = async () => {
    await agent.initialize();
    const initialized = ms();
    const session = await agent.open();
    const opened = ms();
    await agent.prompt(session, 'Hello', '"agent_message_chunk"');
    return [initialized, opened, ms()];
  };
  try {
    return await Promise.race([measure(), tooLong]);
  } finally {
    agent.end();
  }
}

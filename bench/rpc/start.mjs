// Measures the start-up of a program in RPC mode.
//
// Wall-clock time from spawn to `ready`, to the response to get_state, and to the first delta of a prompt that was written at once.
// The floor (bench/floor/host.mjs) is ready when it reports so; its first delta needs a connection and a prompt. Every figure comes
// from a new process; the programs take turns. The minimum is used, because noise only adds time. All use one provider process.
import { Client } from '../floor/client.mjs';
import { scratch, start, startProvider } from '../floor/processes.mjs';
import { promptFor } from '../floor/prompts.mjs';
import { atMost, figure, table } from '../report.mjs';
import { PROGRAMS, RpcProgram } from './programs.mjs';

const HOST = new URL('../floor/host.mjs', import.meta.url);
const PROMPT = promptFor({ work: 'text', count: 1 });

/** Prints the figures and returns the bars. */
export async function benchStart(rounds) {
  const provider = await startProvider();
  const figures = { floor: [], polypod: [], pi: [] };
  for (let round = 0; round < rounds; round++) {
    figures.floor.push(await floorStart(provider));
    for (const kind of ['polypod', 'pi']) figures[kind].push(await rpcStart(kind, provider));
    for (const kind of Object.keys(figures))
      console.error(
        `round ${round + 1}/${rounds}  ${kind}  ${figures[kind].at(-1).map(figure).join('  ')} ms`,
      );
  }
  const best = (kind, at) => Math.min(...figures[kind].map((values) => values[at]));
  const rows = Object.keys(figures).map((kind) => [kind, ...[0, 1, 2].map((at) => figure(best(kind, at)))]);
  console.log(`${table(['ms from the start', 'ready', 'get_state', 'first delta'], rows)}\n`);
  return [
    atMost('ready / floor', best('polypod', 0) / best('floor', 0), 3),
    atMost('first delta / floor', best('polypod', 2) / best('floor', 2), 3),
    atMost('get_state / pi', best('polypod', 1) / best('pi', 1), 0.2),
    atMost('first delta / pi', best('polypod', 2) / best('pi', 2), 0.2),
  ];
}

async function floorStart(provider) {
  const began = performance.now();
  const directory = scratch();
  const path = `${directory}/host.sock`;
  await start(HOST, [path, provider, directory]);
  const ready = performance.now() - began;
  const client = await Client.connect(path, 'floor');
  const { session } = await client.ask({ do: 'open' });
  const state = performance.now() - began;
  await client.prompt(session, PROMPT);
  return [ready, state, performance.now() - began];
}

async function rpcStart(kind, provider) {
  const began = performance.now();
  const program = new RpcProgram(PROGRAMS[kind](provider));
  const words = { polypod: '"type":"ready"', pi: '"command":"get_state"' }[kind];
  const first = program.waitForOutput(words).then(() => performance.now() - began);
  program.send({ id: 's', type: 'get_state' });
  const ready = await first;
  if (kind === 'polypod') await program.waitForOutput('"command":"get_state"');
  const state = performance.now() - began;
  program.send({ type: 'prompt', message: PROMPT });
  await program.waitForOutput('_delta"');
  const delta = performance.now() - began;
  program.end();
  return [ready, state, delta];
}

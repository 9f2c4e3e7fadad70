import { PolypodError, stringOf, withoutUndefined } from '../../base/index.ts';
import type { ControlLink } from '../../control/index.ts';
import { daemonLink, newSession, type NewSession } from '../../daemon/index.ts';
import { existingDirectory, type DataPaths } from '../../setup/index.ts';
import { PERMISSION_MODES } from '../../tools/index.ts';
import { EXIT, runnable, type Surroundings } from '../command.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { openHostInProcess } from '../hosting/host-in-process.ts';
import { MODEL } from '../args/model-option.ts';

/** `polypod new`: creates a session without a prompt. */
export const newCommand = runnable({
  name: 'new',
  summary: 'Create a session and print its id.',
  usage: '[OPTIONS]',
  options: {
    name: { type: 'text', short: 'n', value: 'NAME', help: 'the name of the session' },
    cwd: { type: 'text', short: 'C', value: 'DIR', help: 'the directory to work in (default: this one)' },
    ...MODEL,
    mode: {
      type: 'choice',
      choices: PERMISSION_MODES,
      help: 'the permission mode (default: as configured)',
    },
    json: { type: 'flag', help: 'print one JSON object' },
    ...DATA_DIR,
  },
  details: `
Examples:
  polypod new --name refactoring
  polypod run --resume "$(polypod new)" "What does this project do?"`,
  async run({ values, positionals }, around) {
    if (positionals.length > 0)
      throw new PolypodError('bad-request', `new takes no argument: try --name "${positionals.join(' ')}"`);
    const dataPaths = dataPathsOf(values, around);
    const { name, model, mode } = values;
    const wish = {
      cwd: await existingDirectory(values.cwd ?? '.'),
      ...withoutUndefined({ name, model, mode }),
    };
    const link = await daemonLink(dataPaths);
    const id = link === undefined ? await madeHere(wish, dataPaths, around) : await madeThere(wish, link);
    around.stdout.write(values.json ? `${JSON.stringify({ id })}\n` : `${id}\n`);
    return EXIT.ok;
  },
});

async function madeHere(wish: NewSession, dataPaths: DataPaths, around: Surroundings): Promise<string> {
  const { host, models, close } = await openHostInProcess({ dataPaths }, around);
  try {
    return (await newSession(host, models, wish)).id;
  } finally {
    await close();
  }
}

async function madeThere(wish: NewSession, link: ControlLink): Promise<string> {
  try {
    return stringOf((await link.call('new', { ...wish })).id);
  } finally {
    // An open connection would keep the process alive.
    link.close();
  }
}

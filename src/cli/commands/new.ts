import { PolypodError, stringOf, withoutUndefined } from '../../base/index.ts';
import type { ControlLink } from '../../control/index.ts';
import { daemonLink, newSession, type NewSession } from '../../daemon/index.ts';
import { existingDirectory, type DataPaths } from '../../setup/index.ts';
import { PERMISSION_MODES } from '../../tools/index.ts';
import { EXIT, runnable, type CommandContext } from '../command.ts';
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
    backend: {
      type: 'text',
      short: 'b',
      value: 'NAME',
      completes: 'backends',
      help: 'the agent that does the work; see polypod backends (default: as configured)',
    },
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
  async run({ values, positionals }, context) {
    if (positionals.length > 0)
      throw new PolypodError('bad-request', `new takes no argument: try --name "${positionals.join(' ')}"`);
    const dataPaths = dataPathsOf(values, context);
    const { name, backend, model, mode } = values;
    const request = {
      cwd: await existingDirectory(values.cwd ?? '.'),
      ...withoutUndefined({ name, backend, model, mode }),
    };
    const link = await daemonLink(dataPaths);
    const id =
      link === undefined
        ? await createInProcess(request, dataPaths, context)
        : await createInDaemon(request, link, dataPaths, context);
    context.stdout.write(values.json ? `${JSON.stringify({ id })}\n` : `${id}\n`);
    return EXIT.ok;
  },
});

async function createInProcess(
  request: NewSession,
  dataPaths: DataPaths,
  context: CommandContext,
): Promise<string> {
  const { host, setup, close } = await openHostInProcess({ dataPaths }, context);
  try {
    return (await newSession(host, setup.models, request)).id;
  } finally {
    await close();
  }
}

async function createInDaemon(
  request: NewSession,
  link: ControlLink,
  dataPaths: DataPaths,
  { env, stderr }: CommandContext,
): Promise<string> {
  try {
    const { compareWithDaemon, explainRejectedModel } = await import('../hosting/compare-with-daemon.ts');
    const { keys, configuration } = await compareWithDaemon(link, dataPaths, env);
    for (const text of configuration) stderr.write(`polypod: ${text}\n`);
    const created = await link.call('new', { ...request }).catch((thrown: unknown) => {
      throw explainRejectedModel(thrown, keys);
    });
    return stringOf(created.id);
  } finally {
    // An open connection would keep the process alive.
    link.close();
  }
}

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PolypodError, systemCodeOf } from '../../../base/index.ts';
import { configTemplate, dataPathsFrom } from '../../../setup/index.ts';
import { EXIT, runnable } from '../../command.ts';

/** `polypod config`: creates the configuration file. */
export const config = runnable({
  name: 'config',
  summary: 'Create the configuration file.',
  usage: 'init',
  options: {},
  words: ['init'],
  details: `
init writes a config.yaml in which every setting is a comment with its default or an example, and prints its path. It
never overwrites a file. The file is ~/.config/polypod/config.yaml, or the one that POLYPOD_CONFIG names. polypod doctor
checks it.

Exit codes: 0 written, 2 the file exists.

Examples:
  polypod config init
  POLYPOD_CONFIG=./polypod.yaml polypod config init`,
  async run({ positionals }, context) {
    if (positionals.join(' ') !== 'init')
      throw new PolypodError(
        'bad-request',
        positionals.length === 0
          ? 'the action is missing: polypod config init'
          : `config cannot "${positionals.join(' ')}": polypod config init`,
      );
    const { configFile } = dataPathsFrom(context.env);
    await mkdir(dirname(configFile), { recursive: true, mode: 0o700 });
    try {
      await writeFile(configFile, await configTemplate(), { flag: 'wx', mode: 0o600 });
    } catch (thrown) {
      if (systemCodeOf(thrown) !== 'EEXIST') throw thrown;
      throw new PolypodError(
        'conflict',
        `${configFile} exists and stays unchanged: edit it (docs/configuration.md lists all keys), or move it away first`,
        { cause: thrown },
      );
    }
    context.stdout.write(`${configFile}\n`);
    return EXIT.ok;
  },
});

import { existsSync } from 'node:fs';
import { arrayOf, asPolypodError, PolypodError, stringOf } from '../../base/index.ts';
import type { ControlLink } from '../../control/index.ts';
import { type Environment, VENDORS } from '../../llm/index.ts';
import { type Config, type DataPaths, DEFAULT_CONFIG, keyVariables, readConfig } from '../../setup/index.ts';

/** How the keys and the configuration of the daemon differ from those of this command. Each text names the next step. */
export interface DaemonDifferences {
  readonly keys: readonly string[];
  readonly configuration: readonly string[];
}

const RESTART = 'polypod stop && polypod serve --detach';

/** Compares the daemon with this command. If the file has changed a moment ago, the daemon reloads it first. */
export async function compareWithDaemon(
  daemon: Pick<ControlLink, 'call'>,
  dataPaths: DataPaths,
  env: Environment,
): Promise<DaemonDifferences> {
  let state = await daemon.call('configuration');
  // Without the file, a reload would apply the defaults, which may allow more.
  if (state.isChanged === true && existsSync(stringOf(state.file))) {
    // A failed reload is part of the state.
    await daemon.call('reload').catch(() => {});
    state = await daemon.call('configuration');
  }
  const config = await readConfig(dataPaths).then(
    (read) => read.config,
    () => DEFAULT_CONFIG,
  );
  const missing = missingKeys(env, config, arrayOf(state.keys).map(stringOf));
  const [file, problem] = [stringOf(state.file), stringOf(state.problem)];
  const needsRestart = arrayOf(state.needsRestart).map(stringOf);
  return {
    keys:
      missing.length === 0
        ? []
        : [
            `the daemon was started without ${missing.join(', ')}, which this shell has: restart it from here with ${RESTART}, or name a key_file under accounts in ${file}`,
          ],
    configuration: [
      ...(file === dataPaths.configFile
        ? []
        : [`the daemon uses ${file}, not ${dataPaths.configFile}: restart it from here with ${RESTART}`]),
      ...(problem === ''
        ? []
        : [`the daemon uses an older configuration, because it cannot load the file: ${problem}`]),
      ...(needsRestart.length === 0
        ? []
        : [
            `the daemon applies the changed ${needsRestart.join(', ')} of ${file} after a restart: ${RESTART}`,
          ]),
    ],
  };
}

/** The reason why the daemon rejected a model, with the keys that it lacks. */
export function explainRejectedModel(thrown: unknown, keys: readonly string[]): PolypodError {
  const { code, message } = asPolypodError(thrown);
  return new PolypodError(code, [message, ...keys].join('\n'), { cause: thrown });
}

/** The variables with keys that this process has and the daemon lacks. An account with its own key needs no variable. */
function missingKeys(
  env: Environment,
  { accounts }: Pick<Config, 'accounts'>,
  daemonHas: readonly string[],
): readonly string[] {
  const stated = keyVariables({ accounts }).map((name) => [name]);
  const vendors = VENDORS.filter(
    ({ name }) => !accounts.some((account) => account.name === name && account.key !== undefined),
  ).map(({ keyEnv }) => keyEnv);
  const isSet = (name: string): boolean => (env[name] ?? '').trim() !== '';
  const missing = [...stated, ...vendors].flatMap((names) =>
    names.some((name) => daemonHas.includes(name)) ? [] : names.filter(isSet).slice(0, 1),
  );
  return [...new Set(missing)];
}

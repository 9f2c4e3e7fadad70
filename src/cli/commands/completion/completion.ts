import { isPrintableLine, PolypodError } from '../../../base/index.ts';
import { type DataPaths, keysFile, loadBackends, readConfig, readModels } from '../../../setup/index.ts';
import { type Row, sessionsIn, trashIn } from '../../../pod/sessions.ts';
import { type CommandTable, EXIT, runnable } from '../../command.ts';
import { type Completable, SHELLS } from './completion-scripts.ts';
import { DATA_DIR, dataPathsOf } from '../../args/data-dir.ts';
import type { Listing } from '../../options.ts';
import { sanitizeLine } from '../../../terminal/index.ts';

/** `polypod completion`: shell completion of commands, options and sessions. */
export const completion = (table: CommandTable) =>
  runnable({
    name: 'completion',
    summary: 'Print a shell script that completes commands, options and sessions.',
    usage: Object.keys(SHELLS).join('|'),
    options: { ...DATA_DIR },
    words: Object.keys(SHELLS),
    details: `
Examples:
  bash:  echo 'source <(polypod completion bash)' >> ~/.bashrc
  zsh:   polypod completion zsh > ~/.zfunc/_polypod    (with fpath+=~/.zfunc before compinit)
  fish:  polypod completion fish > ~/.config/fish/completions/polypod.fish`,
    async run({ values, positionals }, context) {
      const [shell = ''] = positionals;
      const [, listing] = Object.entries(LISTINGS).find(([name]) => name === shell) ?? [];
      if (listing !== undefined) {
        const rows = await listing(dataPathsOf(values, context));
        context.stdout.write(
          rows.map(([word, about]) => `${word}\t${sanitizeLine(about.replaceAll(/\s+/g, ' '))}\n`).join(''),
        );
        return EXIT.ok;
      }
      const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
      if (write === undefined)
        throw new PolypodError(
          'bad-request',
          shell === ''
            ? `the shell is missing: polypod completion ${Object.keys(SHELLS).join('|')}`
            : `there is no completion for ${shell}: polypod completion ${Object.keys(SHELLS).join('|')}`,
        );
      const commands: Completable[] = [];
      for (const [name, { summary, load }] of Object.entries(table)) {
        const { options, words = [], takes } = await load();
        commands.push({ name, summary, options, words, takes });
      }
      context.stdout.write(write(commands));
      return EXIT.ok;
    },
  });

type List = (dataPaths: DataPaths) => Promise<readonly (readonly [word: string, about: string])[]>;

/** The completions that the scripts request, each with a description. */
const LISTINGS: Readonly<Record<Listing, List>> = {
  sessions: async ({ dataDirectory }) => sessionWords(sessionsIn(dataDirectory)),
  trash: async ({ dataDirectory }) => sessionWords(await trashIn(dataDirectory)),
  approvals: async ({ dataDirectory }) =>
    sessionsIn(dataDirectory).flatMap(({ approvals }) =>
      approvals.map(({ approvalId, title }) => [approvalId, title] as const),
    ),
  models: async (dataPaths) => {
    const { modelReference } = await import('../../../llm/index.ts');
    return (await readModels(dataPaths)).models.map((model) => [modelReference(model), model.name]);
  },
  backends: async (dataPaths) => {
    const { backendTitles } = await loadBackends();
    return [['polypod', "Polypod's own worker"], ...backendTitles((await readConfig(dataPaths)).config)];
  },
  keys: async (dataPaths) => {
    const { readKeys } = await import('../../../protocols/index.ts');
    return readKeys(keysFile(dataPaths))
      .filter(({ revokedAt }) => revokedAt === undefined)
      .map(({ id, owner, scopes }) => [id, `${owner}: ${scopes.join(', ')}`]);
  },
};

/** A session is completed by its name if no other has it, otherwise by id. */
function sessionWords(
  rows: readonly Pick<Row, 'id' | 'name' | 'title' | 'firstPrompt'>[],
): readonly (readonly [word: string, about: string])[] {
  const times = new Map<string, number>();
  for (const { name = '' } of rows) times.set(name, (times.get(name) ?? 0) + 1);
  return rows.map(({ id, name, title, firstPrompt = '' }) => {
    if (name === undefined) return [id, title ?? firstPrompt];
    return times.get(name) === 1 && isPrintableLine(name) ? [name, id] : [id, name];
  });
}

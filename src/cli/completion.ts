import { PolypodError } from '../base/index.ts';
import { sessionsIn } from '../pod/sessions.ts';
import { EXIT, runnable } from './command.ts';
import { COMMANDS } from './commands.ts';
import { type Completable, SHELLS } from './completion-scripts.ts';
import { DATA_DIR, placesOf } from './data-dir.ts';

/** `polypod completion`: what a shell needs to complete commands, options and sessions. */
export const completion = runnable({
  name: 'completion',
  summary: 'Print a script that has your shell complete commands, options and sessions.',
  usage: Object.keys(SHELLS).join('|'),
  options: { ...DATA_DIR },
  words: Object.keys(SHELLS),
  details: `
Examples:
  bash:  echo 'source <(polypod completion bash)' >> ~/.bashrc
  zsh:   polypod completion zsh > ~/.zfunc/_polypod    (with fpath+=~/.zfunc before compinit)
  fish:  polypod completion fish > ~/.config/fish/completions/polypod.fish`,
  async run({ values, positionals }, around) {
    const [shell = ''] = positionals;
    if (shell === 'sessions') {
      const rows = sessionsIn(placesOf(values, around).dataDirectory);
      const lines = rows.map(
        ({ id, name, firstPrompt }) => `${name ?? id}\t${name === undefined ? (firstPrompt ?? '') : id}\n`,
      );
      around.stdout.write(lines.join(''));
      return EXIT.ok;
    }
    const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
    if (write === undefined)
      throw new PolypodError(
        'bad-request',
        `for which shell? polypod completion ${Object.keys(SHELLS).join('|')}`,
      );
    const commands: Completable[] = [];
    for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
      const { options, words = [], takesSessions = false } = await load();
      commands.push({ name, summary, options, words, takesSessions });
    }
    around.stdout.write(write(commands));
    return EXIT.ok;
  },
});

import type { Word } from '../shell/lexer.ts';
import { scriptSteps } from '../shell/script-steps.ts';

/** Subcommands that record work. They change the repository's own files, but none of its settings. */
const RECORDING = new Set(
  'add am apply branch checkout cherry-pick clean commit merge mv notes rebase reset restore revert rm stash switch tag update-index update-ref'.split(
    ' ',
  ),
);

/** Subcommands that create a repository or change what git runs in one. */
const SHAPING = new Set(
  'clone config hook init lfs maintenance remote sparse-checkout submodule worktree'.split(' '),
);

/** Returns whether a command line runs only git subcommands that record work and read-only commands. */
export function isRecordingCommand(command: string, cwd: string): boolean {
  const found = scriptSteps(command, cwd);
  if ('opaque' in found) return false;
  const { steps } = found;
  return (
    steps.some(({ words }) => isRecording(words)) &&
    steps.every(
      ({ words, hazard, unknown, named }) =>
        hazard === undefined &&
        (unknown === undefined || isRecording(words)) &&
        !named.some(({ access, byShell }) => byShell && access === 'write'),
    )
  );
}

/** Returns whether a command line runs no program but git, apart from `cd`. */
export function runsOnlyGit(command: string, cwd: string): boolean {
  const found = scriptSteps(command, cwd);
  return 'steps' in found && found.steps.every(({ words }) => /^(?:git|cd)$/.test(words[0]?.text ?? ''));
}

function isRecording(words: readonly Word[]): boolean {
  const [verb, options, operands] = gitParts(words);
  // Options before the subcommand select what runs and in which repository.
  const isPlain = options.every((text) => /^(?:--no-pager|-P|--no-optional-locks)$/.test(text));
  const runsProgram = verb === 'rebase' && operands.some((text) => /^(?:-x|--ex)/.test(text));
  return verb !== undefined && RECORDING.has(verb) && isPlain && !runsProgram;
}

/** Returns the subcommand by which a program would create or reconfigure a repository, or undefined. */
export function reconfiguringSubcommand(words: readonly Word[]): string | undefined {
  const [verb] = gitParts(words);
  return verb !== undefined && SHAPING.has(verb) ? verb : undefined;
}

/** Returns git's subcommand, the options before it, and the arguments after it. */
function gitParts(
  words: readonly Word[],
): readonly [string | undefined, readonly string[], readonly string[]] {
  const [program, ...rest] = words.map(({ text }) => text);
  if (program === undefined || !/^(?:\/usr\/(?:local\/)?bin\/)?git$/.test(program))
    return [undefined, [], []];
  let at = 0;
  while (rest[at]?.startsWith('-'))
    at += /^(?:-[cC]|--(?:git-dir|work-tree|namespace|config-env|exec-path))$/.test(rest[at] ?? '') ? 2 : 1;
  return [rest[at], rest.slice(0, at), rest.slice(at + 1)];
}

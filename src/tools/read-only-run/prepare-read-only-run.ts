import { PolypodError, unreadablePathNote } from '../../base/index.ts';
import {
  type ExaminedCall,
  examine,
  type FileFacts,
  judge,
  type JudgedAccess,
  type JudgedGit,
  mayWrite,
  type Policy,
  type Repository,
} from '../policy/index.ts';
import type { ToolContext } from '../tool.ts';
import { type ExaminedGit, readOnlyRun } from './read-only-run.ts';

/**
 * Prepares a call that the policy allowed because it only reads. Everything that the decision depends on is
 * examined again when the call starts: hours may have passed, and what was allowed then may need approval now.
 */
export function prepareReadOnlyRun(
  call: ExaminedCall,
  policy: () => Policy,
  fileFacts: FileFacts,
): NonNullable<ToolContext['prepareReadOnly']> {
  return async ({ env, scratch }) => {
    const commands = await examine(
      call.access.flatMap((access) =>
        access.type === 'command'
          ? [{ type: access.type, command: access.command, cwd: access.cwd.path }]
          : [],
      ),
      fileFacts,
    );
    const rules = policy();
    const { decision, reason, onlyReads } = judge({ tool: call.tool, access: commands }, rules);
    if (decision !== 'allow' || onlyReads !== true)
      throw new PolypodError('denied', `${reason} It was allowed before, and the files have changed since.`);
    const isWritable = async (path: string): Promise<boolean> => {
      const location = await fileFacts.realPath(path);
      return 'problem' in location || mayWrite(rules.scope, location.real) || mayWrite(rules.scope, path);
    };
    const bash = await fileFacts.program('bash');
    if (bash === undefined || bash.kind === 'script' || bash.kind === 'shim' || (await isWritable(bash.path)))
      throw new PolypodError(
        'denied',
        `Commands run without approval only with an installed bash, and none was found on PATH${unreadablePathNote(env['PATH'])}.`,
      );
    const git = mergeExaminedGit(commands.flatMap(gitUses));
    return readOnlyRun({ env, scratch, bash: bash.path, git, isWritable });
  };
}

function gitUses(command: JudgedAccess): readonly JudgedGit[] {
  if (command.type !== 'command' || 'opaque' in command.content) return [];
  return command.content.steps.flatMap(({ git }) => git ?? []);
}

function mergeExaminedGit(gits: readonly JudgedGit[]): ExaminedGit | undefined {
  const [first] = gits;
  if (first === undefined) return undefined;
  const found = new Map<string, { readonly repository: Repository; readonly directories: Set<string> }>();
  const none = new Set<string>();
  for (const { directory, repository } of gits.flatMap(({ dataPaths }) => dataPaths)) {
    if (repository === undefined) {
      none.add(directory);
      continue;
    }
    const entry = found.get(repository.gitDirectory) ?? { repository, directories: new Set() };
    entry.directories.add(directory);
    found.set(repository.gitDirectory, entry);
  }
  return {
    program: first.program,
    found: [...found.values()].map(({ repository, directories }) => ({
      repository,
      directories: [...directories],
    })),
    none: [...none],
  };
}

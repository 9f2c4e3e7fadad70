import { join } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import { readFrontMatter } from './front-matter.ts';
import { projectDirectories } from './project-directories.ts';
import {
  ANY_ROOT,
  labelFrom,
  LONGEST_TEXT,
  projectFolders,
  readTextInside,
  sortedNames,
} from './text-files.ts';

/** A prompt that the user stored in a file `commands/NAME.md`. */
export interface CustomCommand {
  readonly name: string;
  readonly description: string;
  /** The argument as the help shows it; empty if unknown. */
  readonly takes: string;
  readonly of: 'user' | 'project';
  readonly file: string;
  readonly body: string;
}

const MAX_COMMANDS = 200;
const MAX_LABEL = 120;

/** The user's commands and those of the project. A command of the project replaces one of the user with the same name. */
export async function customCommands(cwd: string, userDirectory: string): Promise<readonly CustomCommand[]> {
  const directories = await projectDirectories(cwd);
  const [root = cwd] = directories;
  const folders = [
    { of: 'user', root: ANY_ROOT, folder: join(userDirectory, 'commands') } as const,
    ...directories.flatMap((directory) =>
      projectFolders(directory, 'commands').map((folder) => ({ of: 'project', root, folder }) as const),
    ),
  ];
  const found = await Promise.all(folders.map(commandsIn));
  return [...new Map(found.flat().map((command) => [command.name, command])).values()];
}

/**
 * The prompt of a command. `$ARGUMENTS` is replaced by all arguments and `$1` to `$9` by single ones; without any of these,
 * the arguments are appended.
 */
export function expandCommand({ name, file, body }: CustomCommand, args: string): string {
  const words = args.split(/\s+/).filter((word) => word !== '');
  let isUsed = false;
  const text = body.replace(/\$(?:ARGUMENTS\b|([1-9])(?!\d))/g, (_, digit: string | undefined) => {
    isUsed = true;
    return digit === undefined ? args : (words[Number(digit) - 1] ?? '');
  });
  const prompt = (isUsed || args === '' ? text : `${text.trimEnd()}\n\nArguments: ${args}`).trim();
  if (prompt === '')
    throw new PolypodError('bad-request', `/${name} has no text: write its prompt to ${file}`);
  return prompt;
}

async function commandsIn({
  of,
  root,
  folder,
}: {
  readonly of: CustomCommand['of'];
  readonly root: string;
  readonly folder: string;
}): Promise<readonly CustomCommand[]> {
  const names = (await sortedNames(folder, MAX_COMMANDS)).flatMap(
    (file) => /^([a-z][\w-]{0,63})\.md$/i.exec(file)?.[1] ?? [],
  );
  const commands = await Promise.all(
    names.map(async (name): Promise<readonly CustomCommand[]> => {
      const file = join(folder, `${name}.md`);
      const text = await readTextInside(root, file);
      if (text === undefined || text.length > LONGEST_TEXT) return [];
      const { values, body } = await readFrontMatter(text);
      const [firstLine = ''] = body.trim().split('\n');
      return [
        {
          name: name.toLowerCase(),
          description: labelFrom(values.description ?? firstLine, MAX_LABEL),
          takes: labelFrom(values['argument-hint'] ?? '', MAX_LABEL),
          of,
          file,
          body,
        },
      ];
    }),
  );
  return commands.flat();
}

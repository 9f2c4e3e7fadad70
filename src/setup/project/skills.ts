import { basename, dirname, join } from 'node:path';
import { fileFacts, isInside } from '../../tools/index.ts';
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

/** Instructions for one kind of work, in a folder with a file `SKILL.md`. The model reads them when it needs them. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** A path without links. */
  readonly folder: string;
}

const MAX_SKILLS = 100;
const MAX_DESCRIPTION = 1_024;

/** The user's skills and those of the project. A skill of the project replaces one of the user with the same name. */
export async function readSkills(cwd: string, userDirectory: string): Promise<readonly Skill[]> {
  const directories = await projectDirectories(cwd);
  const [root = cwd] = directories;
  const places = [
    { root: ANY_ROOT, folder: join(userDirectory, 'skills') },
    ...directories.flatMap((directory) =>
      projectFolders(directory, 'skills').map((folder) => ({ root, folder })),
    ),
  ];
  const found = await Promise.all(places.map(({ root: inside, folder }) => skillsIn(inside, folder)));
  const skills = [...new Map(found.flat().map((skill) => [skill.name, skill])).values()];
  return skills.slice(0, MAX_SKILLS);
}

async function skillsIn(root: string, folder: string): Promise<readonly Skill[]> {
  const files = (await sortedNames(folder, MAX_SKILLS)).map((name) => join(folder, name, 'SKILL.md'));
  const skills = await Promise.all(
    files.map(async (file): Promise<readonly Skill[]> => {
      const text = await readTextInside(root, file);
      if (text === undefined || text.length > LONGEST_TEXT) return [];
      const { values } = await readFrontMatter(text);
      const name = values.name ?? basename(dirname(file));
      const description = labelFrom(values.description ?? '', MAX_DESCRIPTION);
      // Without a description, the model cannot know when to use it.
      if (description === '' || !/^[\w-]{1,64}$/.test(name)) return [];
      const folder = await fileFacts.realPath(dirname(file));
      return 'real' in folder && isInside(root, folder.real)
        ? [{ name, description, folder: folder.real }]
        : [];
    }),
  );
  return skills.flat();
}

import { join } from 'node:path';
import { withoutUndefined } from '../../base/index.ts';
import type { SubagentType } from '../../delegation/index.ts';
import { PERMISSION_MODES } from '../../tools/index.ts';
import { readFrontMatter } from './front-matter.ts';
import { projectDirectories } from './project-directories.ts';
import { labelFrom, LONGEST_TEXT, projectFolders, readTextInside, sortedNames } from './text-files.ts';

const MAX_AGENTS = 50;
const MAX_DESCRIPTION = 300;

/**
 * The types of sub-agents: built-in ones, those of the user (`agents/NAME.md`) and those of the project. A repository is not
 * trusted: its types replace no others and do not choose a model, and nothing in a file can extend what the parent may do.
 */
export async function readAgentFiles(
  cwd: string,
  userDirectory: string,
  builtIn: readonly SubagentType[],
): Promise<readonly SubagentType[]> {
  const directories = await projectDirectories(cwd);
  const [root = cwd] = directories;
  const [own, ...ofProject] = await Promise.all([
    agentsIn(userDirectory, join(userDirectory, 'agents')),
    ...directories
      .toReversed()
      .flatMap((directory) => projectFolders(directory, 'agents').map((folder) => agentsIn(root, folder))),
  ]);
  const untrusted = ofProject.flat().map(({ model: _, description, ...type }) => ({
    ...type,
    description: `${description} (defined by the project)`,
  }));
  const types = new Map<string, SubagentType>();
  for (const type of [...builtIn, ...(own ?? []), ...untrusted])
    if (!types.has(type.name)) types.set(type.name, type);
  return [...types.values()].slice(0, MAX_AGENTS);
}

async function agentsIn(root: string, folder: string): Promise<readonly SubagentType[]> {
  const files = (await sortedNames(folder, MAX_AGENTS)).filter((file) => file.endsWith('.md'));
  const agents = await Promise.all(
    files.map(async (file): Promise<readonly SubagentType[]> => {
      const text = await readTextInside(root, join(folder, file));
      if (text === undefined || text.length > LONGEST_TEXT) return [];
      const { values, body } = await readFrontMatter(text);
      const name = values.name ?? file.slice(0, -'.md'.length);
      const description = labelFrom(values.description ?? '', MAX_DESCRIPTION);
      // Without a description, the model cannot know when to use it.
      if (description === '' || !/^[\w-]{1,64}$/.test(name)) return [];
      const { tools, mode: givenMode, model } = values;
      const mode = PERMISSION_MODES.find((each) => each === givenMode);
      // A mode that is unknown here may have been meant as a restriction.
      if (givenMode !== undefined && mode === undefined) return [];
      return [
        {
          name,
          description,
          system: body.trim(),
          ...withoutUndefined({
            tools: tools === undefined ? undefined : toolNames(tools),
            mode,
            model: model === 'inherit' ? undefined : model,
          }),
        },
      ];
    }),
  );
  return agents.flat();
}

/** Names that the files of Claude Code use for tools that are named differently here. */
const OUR_NAMES: Readonly<Record<string, string>> = {
  glob: 'find',
  multiedit: 'edit',
  todowrite: 'todo',
  webfetch: 'web_fetch',
};

/** The tools in a list such as `read, grep` or `Read, Glob`. Names of MCP tools are kept as they are. */
function toolNames(list: string): readonly string[] {
  return list
    .split(/[\s,]+/)
    .filter((name) => name !== '')
    .map((name) => {
      const lower = name.toLowerCase();
      return name.startsWith('mcp__') ? name : (OUR_NAMES[lower] ?? lower);
    });
}

import { join } from 'node:path';
import { shape } from '../../base/index.ts';
import { defineTool, errorOutput, type Tool, textOutput } from '../../tools/index.ts';
import type { Skill } from './skills.ts';
import { LONGEST_TEXT, readTextInside, sortedNames } from './text-files.ts';

const input = shape.fields(
  { name: shape.withDescription(shape.text(), 'The name of the skill.') },
  {
    file: shape.withDescription(
      shape.text(),
      'Another file of the skill, as a path relative to its folder; default: SKILL.md.',
    ),
  },
);

const MAX_NAMES = 50;

/** Creates the tool that reads the files of skills. It reads nothing outside of their folders. */
export function skillTool(skills: readonly Skill[]): Tool {
  return defineTool({
    name: 'skill',
    description:
      'Reads the instructions of a skill that the system prompt lists, or another file of the skill. Call it before you start work that a skill describes.',
    input,
    parallel: true,
    access: () => [],
    title: ({ name, file }) => `skill ${name}${file === undefined ? '' : `: ${file}`}`,
    run: async ({ name, file = 'SKILL.md' }) => {
      const skill = skills.find((each) => each.name === name);
      if (skill === undefined)
        return errorOutput(
          `There is no skill ${name}. The skills are: ${skills.map((each) => each.name).join(', ')}.`,
        );
      const text = await readTextInside(skill.folder, join(skill.folder, file));
      if (text === undefined) return errorOutput(`The skill ${name} has no text file ${file} in its folder.`);
      const isCut = text.length > LONGEST_TEXT;
      const others = (await sortedNames(skill.folder, MAX_NAMES)).filter((each) => each !== 'SKILL.md');
      const notes = [
        ...(isCut ? [`[cut after ${LONGEST_TEXT} characters]`] : []),
        ...(file === 'SKILL.md' && others.length > 0 ? [`[in its folder: ${others.join(', ')}]`] : []),
      ];
      return textOutput(`skill ${name}`, [text.slice(0, LONGEST_TEXT).trimEnd(), ...notes].join('\n\n'));
    },
  });
}

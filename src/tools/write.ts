import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { counted, oneLine } from './text/shorten.ts';
import { type Diff, diffOf, linesOf } from './text/diff.ts';
import { diffDetails } from './text/diff-details.ts';
import { absolutePath, pathArgument } from './path-argument.ts';
import { atFileSpot, type Before, type FileSpot } from './files/replace-file.ts';
import { defineTool, errorOutput, type ToolOutput, textOutput } from './tool.ts';

const input = shape.fields(
  {
    path: pathArgument('The file: relative to the working directory or absolute; ~ is not expanded.'),
    content: shape.described(shape.anyText, 'All that the file shall hold.'),
  },
  {},
);
type Input = shape.ValueOf<typeof input>;

export const write = defineTool({
  name: 'write',
  description:
    'Writes a whole file: makes it, with the directories on the way, or replaces what it holds. To change a part of a file use edit.',
  input,
  parallel: false,
  access: ({ path, content }, cwd) => [
    { type: 'write', path: absolutePath(path, cwd), after: () => content },
  ],
  title: ({ path }) => oneLine(`write ${path}`),
  run: (wanted, around, signal) =>
    attempt(wanted.path, signal, () =>
      atFileSpot(
        {
          path: absolutePath(wanted.path, around.cwd),
          resolve: around.resolve,
          makeDirectories: true,
          mostBytes: MOST_COMPARED_BYTES,
        },
        signal,
        (spot) => writeAt(spot, wanted),
      ),
    ),
});

async function writeAt({ before, replace }: FileSpot, { path, content }: Input): Promise<ToolOutput> {
  const refusal = REFUSALS[before.type]?.(path);
  if (refusal !== undefined) return errorOutput(refusal);
  const lines = counted(linesOf(content).length, 'line');
  if (before.type === 'text' && !before.byteOrderMark && before.text === content)
    return textOutput(`${path} is unchanged`, `${path} holds exactly this already; nothing was written.`);
  await replace(content);
  const created = before.type === 'nothing';
  const diff = comparison(path, before, content);
  const summary = created ? `Created ${path} (${lines})` : `Updated ${path} (${lines}${changeText(diff)})`;
  return textOutput(summary, `${summary}.`, { created, ...(diff === undefined ? {} : diffDetails(diff)) });
}

const REFUSALS: { readonly [type in Before['type']]?: (path: string) => string } = {
  directory: (path) => `${path} is a directory. Name a file in it.`,
  special: (path) => `${path} is not a regular file but a device, pipe or socket. Choose another name.`,
};

/** Undefined when what was there cannot be compared. */
function comparison(path: string, before: Before, content: string): Diff | undefined {
  if (content.length > MOST_COMPARED_BYTES) return undefined;
  if (before.type === 'nothing') return diffOf(path, undefined, content);
  return before.type === 'text' ? diffOf(path, before.text, content) : undefined;
}

function changeText(diff: Diff | undefined): string {
  return diff === undefined ? '' : `, +${diff.added} -${diff.removed}`;
}

const MOST_COMPARED_BYTES = 2 * 1024 * 1024;

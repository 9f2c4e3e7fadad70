import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { formatCount, oneLine } from './text/shorten.ts';
import { type Diff, createDiff, splitLines } from './text/diff.ts';
import { diffDetails } from './text/diff-details.ts';
import { absolutePath, pathArgument } from './path-argument.ts';
import { withFileTarget, type ExistingFile, type FileTarget } from './files/replace-file.ts';
import { defineTool, errorOutput, type ToolOutput, textOutput } from './tool.ts';

const input = shape.fields(
  {
    path: pathArgument('The file: relative to the working directory or absolute; ~ is not expanded.'),
    content: shape.withDescription(shape.anyText, 'The complete content of the file.'),
  },
  {},
);
type Input = shape.ValueOf<typeof input>;

export const write = defineTool({
  name: 'write',
  description:
    'Writes a whole file: creates it with its parent directories, or replaces its content. To change a part of a file use edit.',
  input,
  parallel: false,
  access: ({ path, content }, cwd) => [
    { type: 'write', path: absolutePath(path, cwd), after: () => content },
  ],
  title: ({ path }) => oneLine(`write ${path}`),
  run: (input, context, signal) =>
    attempt(input.path, signal, () =>
      withFileTarget(
        {
          path: absolutePath(input.path, context.cwd),
          resolve: context.resolve,
          makeDirectories: true,
          mostBytes: MAX_COMPARED_BYTES,
          record: context.recordFileWrite,
          client: context.clientFiles,
        },
        signal,
        (spot) => writeAt(spot, input),
      ),
    ),
});

async function writeAt({ before, replace }: FileTarget, { path, content }: Input): Promise<ToolOutput> {
  const refusal = REFUSALS[before.type]?.(path);
  if (refusal !== undefined) return errorOutput(refusal);
  const lines = formatCount(splitLines(content).length, 'line');
  if (before.type === 'text' && !before.byteOrderMark && before.text === content)
    return textOutput(
      `${path} is unchanged`,
      `${path} already has exactly this content; nothing was written.`,
    );
  const notes = await replace(content);
  const created = before.type === 'nothing';
  const diff = await comparison(path, before, content);
  const summary = created ? `Created ${path} (${lines})` : `Updated ${path} (${lines}${changeText(diff)})`;
  return textOutput(summary, [`${summary}.`, ...notes].join('\n'), {
    created,
    ...(diff === undefined ? {} : diffDetails(diff)),
  });
}

const REFUSALS: { readonly [type in ExistingFile['type']]?: (path: string) => string } = {
  directory: (path) => `${path} is a directory. Name a file in it.`,
  special: (path) => `${path} is not a regular file but a device, pipe or socket. Choose another name.`,
};

/** Returns undefined if the previous content cannot be compared. */
async function comparison(path: string, before: ExistingFile, content: string): Promise<Diff | undefined> {
  if (content.length > MAX_COMPARED_BYTES) return undefined;
  if (before.type === 'nothing') return await createDiff(path, undefined, content);
  return before.type === 'text' ? await createDiff(path, before.text, content) : undefined;
}

function changeText(diff: Diff | undefined): string {
  return diff === undefined ? '' : `, +${diff.added} -${diff.removed}`;
}

const MAX_COMPARED_BYTES = 2 * 1024 * 1024;

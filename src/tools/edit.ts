import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { formatCount, oneLine, formatBytes } from './text/shorten.ts';
import { createDiff } from './text/diff.ts';
import { diffDetails } from './text/diff-details.ts';
import { applyEdits, type TextEdit } from './text/edit-text.ts';
import { missingFileText } from './files/missing-file.ts';
import { absolutePath, pathArgument, nonEmptyText } from './path-argument.ts';
import { withFileTarget, type ExistingFile, type FileTarget } from './files/replace-file.ts';
import { defineTool, errorOutput, type ToolOutput, type ToolContext, textOutput } from './tool.ts';

const MAX_BYTES = 16 * 1024 * 1024;

const OLD =
  'The text to replace, exactly as it is in the file, with its indentation and without line numbers.';
const NEW = 'The replacement text; empty to remove.';
const ALL = 'Replace every occurrence. Without it, old must be in the file exactly once.';

const editShape = shape.fields(
  { old: nonEmptyText(OLD), new: shape.withDescription(shape.anyText, NEW) },
  { all: shape.withDescription(shape.boolean, ALL) },
);

const input = shape.refined(
  shape.fields(
    { path: pathArgument('The file: relative to the working directory or absolute; ~ is not expanded.') },
    {
      old: nonEmptyText(OLD),
      new: shape.withDescription(shape.anyText, NEW),
      all: shape.withDescription(shape.boolean, ALL),
      edits: shape.withDescription(
        shape.listOf(editShape),
        'Instead of old and new: several replacements in this file, applied in order, all or none.',
      ),
    },
  ),
  (value) => {
    const single = value.old !== undefined && value.new !== undefined;
    const none = value.old === undefined && value.new === undefined && value.all === undefined;
    if (value.edits === undefined) return single ? undefined : 'needs old and new, or edits';
    if (!none) return 'takes either old and new, or edits, not both';
    return value.edits.length === 0 ? 'needs at least one edit' : undefined;
  },
);
type Input = shape.ValueOf<typeof input>;

export const edit = defineTool({
  name: 'edit',
  description:
    'Replaces exact text in a file: old by new. old must be in the file exactly once, unless all is true; add lines around it to make it unique. Line endings of the file are kept. Use edits instead of old and new to change several places at once. Read the file first.',
  input,
  parallel: false,
  access: (input, cwd) => [
    { type: 'read', path: absolutePath(input.path, cwd) },
    { type: 'write', path: absolutePath(input.path, cwd), after: (before) => editedText(input, before) },
  ],
  title: ({ path }) => oneLine(`edit ${path}`),
  run: (input, context, signal) =>
    attempt(input.path, signal, () =>
      withFileTarget(
        {
          path: absolutePath(input.path, context.cwd),
          resolve: context.resolve,
          makeDirectories: false,
          mostBytes: MAX_BYTES,
          record: context.recordFileWrite,
          client: context.clientFiles,
        },
        signal,
        (spot) => editAt(spot, input, context),
      ),
    ),
});

async function editAt(
  { before, replace }: FileTarget,
  input: Input,
  context: ToolContext,
): Promise<ToolOutput> {
  const { path } = input;
  if (before.type === 'nothing') return errorOutput(await missingFileText(path, context));
  if (before.type !== 'text') return errorOutput(REFUSALS[before.type](path));
  const result = applyEdits(before.text, listEdits(input));
  if (result.type === 'failed') return errorOutput(`${path} was not changed: ${result.why}`);
  const notes = await replace(before.byteOrderMark ? `\ufeff${result.text}` : result.text);
  const diff = await createDiff(path, before.text, result.text);
  const replaced = formatCount(result.replaced, 'replacement');
  const summary = `Edited ${path}: ${replaced}, +${diff.added} -${diff.removed}`;
  return textOutput(summary, [`${summary}.`, ...notes].join('\n'), {
    ...diffDetails(diff),
    replaced: result.replaced,
  });
}

/** Returns undefined if the edits do not match the current content. */
function editedText(input: Input, before: string | undefined): string | undefined {
  const result = before === undefined ? undefined : applyEdits(before, listEdits(input));
  return result?.type === 'failed' ? undefined : result?.text;
}

function listEdits(input: Input): readonly TextEdit[] {
  const edits = input.edits ?? [{ old: input.old ?? '', new: input.new ?? '', all: input.all ?? false }];
  return edits.map((edit) => ({ old: edit.old, new: edit.new, all: edit.all ?? false }));
}

const REFUSALS: {
  readonly [type in Exclude<ExistingFile['type'], 'text' | 'nothing'>]: (path: string) => string;
} = {
  directory: (path) => `${path} is a directory. Name a file in it; ls shows them.`,
  special: (path) => `${path} is not a regular file but a device, pipe or socket, which cannot be edited.`,
  binary: (path) => `${path} is a binary file; edit changes UTF-8 text only. Use bash.`,
  'too-large': (path) => `${path} is larger than ${formatBytes(MAX_BYTES)}. Use bash, for example with sed.`,
};

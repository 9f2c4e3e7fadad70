import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { counted, oneLine, sized } from './text/shorten.ts';
import { diffOf } from './text/diff.ts';
import { diffDetails } from './text/diff-details.ts';
import { applyEdits, type TextEdit } from './text/edit-text.ts';
import { missingText } from './files/missing-file.ts';
import { absolutePath, pathArgument, someText } from './path-argument.ts';
import { atFileSpot, type Before, type FileSpot } from './files/replace-file.ts';
import { defineTool, errorOutput, type ToolOutput, type ToolSurroundings, textOutput } from './tool.ts';

const MOST_BYTES = 16 * 1024 * 1024;

const OLD =
  'The text to replace, exactly as it is in the file, with its indentation and without line numbers.';
const NEW = 'The text that comes there; empty to remove.';
const ALL = 'Replace every occurrence. Without it, old must be in the file exactly once.';

const editShape = shape.fields(
  { old: someText(OLD), new: shape.described(shape.anyText, NEW) },
  { all: shape.described(shape.flag, ALL) },
);

const input = shape.ruled(
  shape.fields(
    { path: pathArgument('The file: relative to the working directory or absolute; ~ is not expanded.') },
    {
      old: someText(OLD),
      new: shape.described(shape.anyText, NEW),
      all: shape.described(shape.flag, ALL),
      edits: shape.described(
        shape.listOf(editShape),
        'Instead of old and new: several replacements in this file, made in order, all or none.',
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
    'Replaces exact text in a file: old by new. old must be in the file exactly once, unless all is true; add lines around it to make it unique. Line endings of the file are kept. Give edits instead of old and new to change several places at once. Read the file first.',
  input,
  parallel: false,
  access: (wanted, cwd) => [
    { type: 'read', path: absolutePath(wanted.path, cwd) },
    { type: 'write', path: absolutePath(wanted.path, cwd), after: (before) => textAfter(wanted, before) },
  ],
  title: ({ path }) => oneLine(`edit ${path}`),
  run: (wanted, around, signal) =>
    attempt(wanted.path, signal, () =>
      atFileSpot(
        {
          path: absolutePath(wanted.path, around.cwd),
          resolve: around.resolve,
          makeDirectories: false,
          mostBytes: MOST_BYTES,
        },
        signal,
        (spot) => editAt(spot, wanted, around),
      ),
    ),
});

async function editAt(
  { before, replace }: FileSpot,
  wanted: Input,
  around: ToolSurroundings,
): Promise<ToolOutput> {
  const { path } = wanted;
  if (before.type === 'nothing') return errorOutput(await missingText(path, around));
  if (before.type !== 'text') return errorOutput(REFUSALS[before.type](path));
  const result = applyEdits(before.text, editsOf(wanted));
  if (result.type === 'failed') return errorOutput(`${path} was not changed: ${result.why}`);
  await replace(before.byteOrderMark ? `\ufeff${result.text}` : result.text);
  const diff = diffOf(path, before.text, result.text);
  const replaced = counted(result.replaced, 'replacement');
  const summary = `Edited ${path}: ${replaced}, +${diff.added} -${diff.removed}`;
  return textOutput(summary, `${summary}.`, { ...diffDetails(diff), replaced: result.replaced });
}

/** Undefined when the edits do not fit what is there now. */
function textAfter(wanted: Input, before: string | undefined): string | undefined {
  const result = before === undefined ? undefined : applyEdits(before, editsOf(wanted));
  return result?.type === 'failed' ? undefined : result?.text;
}

function editsOf(wanted: Input): readonly TextEdit[] {
  const edits = wanted.edits ?? [{ old: wanted.old ?? '', new: wanted.new ?? '', all: wanted.all ?? false }];
  return edits.map((edit) => ({ old: edit.old, new: edit.new, all: edit.all ?? false }));
}

const REFUSALS: { readonly [type in Exclude<Before['type'], 'text' | 'nothing'>]: (path: string) => string } =
  {
    directory: (path) => `${path} is a directory. Name a file in it; ls shows them.`,
    special: (path) => `${path} is not a regular file but a device, pipe or socket, which cannot be edited.`,
    binary: (path) => `${path} is a binary file; edit changes UTF-8 text only. Use bash.`,
    'too-large': (path) => `${path} is larger than ${sized(MOST_BYTES)}. Use bash, for example with sed.`,
  };

import { PolypodError } from '../../../base/index.ts';
import { type FilePreview, REWIND_PARTS, type RewindParts } from '../../../pod/index.ts';
import { type PickerItem, sanitizeFullLines, sanitizeLine } from '../../../terminal/index.ts';
import { relativeTime } from '../../output/relative-time.ts';
import { type Print, notice } from '../view/print.ts';
import { isBusy } from '../view/view.ts';
import type { SlashCommandContext } from './slash-context.ts';

/** `/undo`: returns to the point before the last prompt. */
export async function undo(rest: string, context: SlashCommandContext): Promise<void> {
  refuseDuringRun(context);
  const { points } = await context.pod.rewindPoints();
  const last = points.at(-1);
  if (last === undefined) return context.notify('there is no prompt to undo');
  await rewindTo({ ...last, name: '/undo', offered: ['both'] }, rest, context);
}

/** `/redo`: undoes the last rewind. */
export async function redo(rest: string, context: SlashCommandContext): Promise<void> {
  refuseDuringRun(context);
  const { redo: last } = await context.pod.rewindPoints();
  if (last === undefined)
    return context.notify('there is nothing to redo: no /undo or /rewind came after the last prompt');
  await rewindTo({ entryId: last.entryId, name: '/redo', offered: [last.parts] }, rest, context);
}

/** `/rewind`: returns to the point before an earlier prompt. */
export async function rewind(rest: string, context: SlashCommandContext): Promise<void> {
  refuseDuringRun(context);
  const { points } = await context.pod.rewindPoints();
  if (points.length === 0) return context.notify('there are no prompts yet');
  const now = new Date();
  const items = points.map(({ entryId, text, at, files }): PickerItem => {
    const changed = files === 0 ? '' : `, ${counted(files, 'file')} changed`;
    return { value: entryId, label: inALine(text), detail: `${relativeTime(at, now)} ago${changed}` };
  });
  const [number = '', ...words] = rest.split(/\s+/);
  const width = Math.max(...items.map(({ detail }) => detail.length));
  if (number === '' && context.pick === undefined)
    return context.list([
      ...items.map(
        ({ label, detail }, index) => `${String(index + 1).padStart(3)}  ${detail.padEnd(width)}  ${label}`,
      ),
      '/rewind NUMBER shows what would change',
      '/rewind NUMBER both, files or conversation returns to the point before that prompt',
    ]);
  const newestFirst = items.toReversed();
  const picked =
    number === ''
      ? await context.pick?.('Return to the point before', newestFirst)
      : points[Number(number) - 1]?.entryId;
  if (number === '' && picked === undefined) return;
  const point = points.find(({ entryId }) => entryId === picked);
  if (point === undefined)
    throw new PolypodError('not-found', `there is no prompt ${number}: /rewind lists them`);
  const index = points.indexOf(point) + 1;
  await rewindTo({ ...point, name: `/rewind ${index}`, offered: REWIND_PARTS }, words.join(' '), context);
}

interface Destination {
  readonly entryId: string;
  /** The prompt, which goes back to the input. */
  readonly text?: string;
  /** The command as typed, for hints. */
  readonly name: string;
  /** The parts to choose from; the first is the default. */
  readonly offered: readonly RewindParts[];
}

interface Answer {
  readonly parts: RewindParts;
  readonly isOverwriting: boolean;
}

async function rewindTo(
  { entryId, text, name, offered }: Destination,
  words: string,
  context: SlashCommandContext,
): Promise<void> {
  const files = await context.pod.previewRewind(entryId);
  const conflicts = files.filter(({ status }) => status === 'conflict');
  const typed = words === '' ? undefined : answerIn(words, offered, name);
  const isTrivial = files.length === 0 && offered.length === 1;
  if (typed === undefined) context.print(preview(files, context));
  const answer = typed ?? (isTrivial ? only(offered) : await choose(offered, files, name, context));
  if (answer === undefined) return;
  const { parts, isOverwriting } = answer;
  const overwrite = isOverwriting ? conflicts.map(({ path }) => path) : [];
  await context.handle({ type: 'rewind', entryId, parts, overwrite });
  const running = context.view.background.length;
  if (parts !== 'files' && running > 0)
    context.notify(`${counted(running, 'background command')} still running: /commands lists and ends them`);
  if (name !== '/redo') context.notify('/redo takes it back');
  if (parts !== 'files' && text !== undefined) context.suggest(text);
}

function only([parts = 'both']: readonly RewindParts[]): Answer {
  return { parts, isOverwriting: false };
}

async function choose(
  offered: readonly RewindParts[],
  files: readonly FilePreview[],
  name: string,
  { pick, notify }: SlashCommandContext,
): Promise<Answer | undefined> {
  const ready = files.filter(({ status }) => status === 'ready').length;
  const conflicts = files.filter(({ status }) => status === 'conflict').length;
  if (pick === undefined) {
    const how = offered.length === 1 ? 'yes' : offered.join('|');
    const more = conflicts === 0 ? '' : `; with the word overwrite, also the files with conflicts`;
    notify(`${name} ${how} restores them${more}`);
    return undefined;
  }
  const items = offered.flatMap((parts): readonly PickerItem[] => {
    const label = LABELS[parts];
    const detail = parts === 'conversation' ? '' : counted(ready, 'file');
    const plain = { value: parts, label, detail };
    if (parts === 'conversation' || conflicts === 0) return [plain];
    const all = counted(ready + conflicts, 'file');
    return [
      { ...plain, detail: `${detail}, skips conflicts` },
      { value: `${parts} overwrite`, label: `${label}, overwrite conflicts`, detail: all },
    ];
  });
  const picked = await pick('Restore', [...items, { value: '', label: 'Cancel', detail: '' }]);
  return picked === undefined || picked === '' ? undefined : answerIn(picked, offered, name);
}

const LABELS: Readonly<Record<RewindParts, string>> = {
  both: 'Conversation and files',
  files: 'Files only',
  conversation: 'Conversation only',
};

/** Reads `yes`, `files`, `both overwrite` and the like. */
function answerIn(words: string, offered: readonly RewindParts[], name: string): Answer {
  const given = words.split(/\s+/).filter((word) => word !== 'yes' && word !== 'overwrite');
  const parts = given.length === 0 ? offered[0] : offered.find((each) => each === given[0]);
  if (parts === undefined || given.length > 1)
    throw new PolypodError(
      'bad-request',
      `"${words}" is not an answer: use ${['yes', ...offered, 'overwrite'].map((word) => `${name} ${word}`).join(', ')}`,
    );
  return { parts, isOverwriting: words.includes('overwrite') };
}

/** The diffs from the current files to the restored ones. */
function preview(files: readonly FilePreview[], { pick }: SlashCommandContext): readonly Print[] {
  if (files.length === 0) return [notice(`no files to restore; ${UNTRACKED}`)];
  return [
    ...files.map((file): Print => {
      const { label, action, status, reason = '', diff, added, removed } = file;
      const title = `${action} ${label}`;
      const summary = [`+${added} -${removed}`, WORDS[status], reason]
        .filter((part) => part !== '')
        .join(', ');
      // Without keys, a folded card could not be expanded.
      if (pick === undefined)
        return {
          type: 'list',
          rows: [`${sanitizeLine(title)} (${summary})`, ...sanitizeFullLines(diff.trimEnd())],
        };
      const card = { type: 'tool', status: 'preview', durationMs: undefined, output: '' } as const;
      return { type: 'card', card: { ...card, title, summary, diff } };
    }),
    notice(UNTRACKED),
  ];
}

const WORDS: Readonly<Record<FilePreview['status'], string>> = {
  ready: '',
  conflict: 'conflict',
  unavailable: 'cannot be restored',
};

const UNTRACKED = 'only changes by the write and edit tools are tracked, not those by commands';

function refuseDuringRun({ view }: SlashCommandContext): void {
  if (isBusy(view)) throw new PolypodError('conflict', 'a run is active: cancel it first (Ctrl-C)');
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function inALine(text: string): string {
  return sanitizeLine(text.replace(/\s+/g, ' ')).slice(0, 200);
}

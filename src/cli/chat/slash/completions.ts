import { THINKING_LEVELS } from '../../../llm/index.ts';
import { PERMISSION_MODES } from '../../../tools/index.ts';
import type { ListedModel } from '../../../setup/index.ts';
import type { Choice, Completion } from '../../../terminal/index.ts';
import type { CustomCommand } from '../../../setup/index.ts';
import { fileCompletion, mentionBefore } from './file-completion.ts';
import { usableFirst } from './model-items.ts';
import { customRows, SLASH_COMMANDS } from './slash-commands.ts';

/** The sources of completions besides the command names. */
export interface Known {
  readonly cwd: string;
  /** Commands that the user and the project store in files. */
  readonly commands: readonly CustomCommand[];
  readonly models: readonly ListedModel[];
  readonly sessions: readonly { readonly word: string; readonly about: string }[];
  /** The files below `cwd`; `isFirst` if a new mention begins, so that the list should be current. */
  readonly files: (cwd: string, isFirst: boolean) => readonly string[];
}

const MOST = 50;

/** Completes the text before the cursor: a command name, its argument, or a file after `@`. */
export function completionOf(text: string, cursor: number, known: Known): Completion | undefined {
  const typed = text.slice(0, cursor);
  if (/^\/[\w-]*$/.test(typed)) return commandNames(typed, known.commands);
  const [, name, argument] = /^\/([\w-]+) +(\S*)$/.exec(typed) ?? [];
  const values = name === undefined ? [] : valuesFor(name, known);
  if (argument !== undefined && values.length > 0) return completing(argument, cursor, values);
  const mention = mentionBefore(typed);
  if (mention === undefined) return undefined;
  return fileCompletion(mention, known.cwd, known.files(known.cwd, mention.path === ''));
}

function commandNames(typed: string, custom: readonly CustomCommand[]): Completion {
  const all = [...SLASH_COMMANDS, ...customRows(custom).map((row) => ({ ...row, takes: 'ARGUMENTS' }))];
  const fitting = all.filter(({ name }) => `/${name}`.startsWith(typed));
  // A complete name comes first, so that Enter runs it and not a longer one.
  const choices = fitting
    .toSorted((one, other) => Number(`/${other.name}` === typed) - Number(`/${one.name}` === typed))
    .map(
      ({ name, takes, summary }): Choice => ({
        label: `/${name}`,
        detail: summary,
        insert: takes === '' ? `/${name}` : `/${name} `,
      }),
    );
  return { from: 0, eager: true, choices };
}

function valuesFor(name: string, { models, sessions }: Known): readonly Choice[] {
  switch (name) {
    case 'model':
      return usableFirst(models).map(({ reference, problem = '' }) => ({
        label: reference,
        detail: problem,
        insert: reference,
      }));
    case 'mode':
      return PERMISSION_MODES.map((mode) => plain(mode));
    case 'thinking':
      return THINKING_LEVELS.map((level) => plain(level));
    case 'resume':
      return sessions.map(({ word, about }) => ({ label: word, detail: about, insert: word }));
    default:
      return [];
  }
}

function completing(typed: string, cursor: number, choices: readonly Choice[]): Completion | undefined {
  const wanted = typed.toLowerCase();
  const starting = choices.filter(({ insert }) => insert.toLowerCase().startsWith(wanted));
  const fitting =
    starting.length > 0 ? starting : choices.filter(({ label }) => label.toLowerCase().includes(wanted));
  if (fitting.length === 0) return undefined;
  return { from: cursor - typed.length, eager: true, choices: fitting.slice(0, MOST) };
}

function plain(word: string): Choice {
  return { label: word, detail: '', insert: word };
}

import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { THINKING_LEVELS } from '../../../llm/index.ts';
import { PERMISSION_MODES } from '../../../tools/index.ts';
import type { Choice, Completion } from '../../../terminal/index.ts';
import { SLASH_COMMANDS } from './slash-commands.ts';

/** The sources of completions besides the command names. */
export interface Known {
  readonly cwd: string;
  readonly models: readonly string[];
  readonly sessions: readonly { readonly word: string; readonly about: string }[];
}

const MOST = 50;

/** Completes the text before the cursor: a command name, its argument, or a file after `@`. */
export function completionOf(text: string, cursor: number, known: Known): Completion | undefined {
  const typed = text.slice(0, cursor);
  if (/^\/[a-z-]*$/.test(typed)) return commandNames(typed);
  const [, name, argument] = /^\/([a-z-]+) +(\S*)$/.exec(typed) ?? [];
  if (name !== undefined && argument !== undefined)
    return completing(argument, cursor, valuesFor(name, known));
  const [, path] = /(?:^|\s)@(\S*)$/.exec(typed) ?? [];
  return path === undefined ? undefined : filesAt(path, cursor, known.cwd);
}

function commandNames(typed: string): Completion {
  const choices = SLASH_COMMANDS.filter(({ name }) => `/${name}`.startsWith(typed)).map(
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
      return models.map((model) => plain(model));
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

/** Completes files of the directory that is being typed; hidden files only if a dot was typed. */
function filesAt(path: string, cursor: number, cwd: string): Completion | undefined {
  const folder = path.includes('/') ? `${dirname(`${path}x`)}/`.replace(/^\/\/$/, '/') : '';
  const start = path.slice(folder.length);
  const from = folder.startsWith('~/')
    ? join(homedir(), folder.slice(2))
    : folder.startsWith('/')
      ? folder
      : join(cwd, folder);
  const choices = entriesOf(from)
    .filter(({ name }) => name.startsWith(start) && (start.startsWith('.') || !name.startsWith('.')))
    .slice(0, MOST)
    .map(({ name, isFolder }): Choice => {
      const whole = `@${folder}${name}`;
      return { label: name, detail: isFolder ? 'folder' : '', insert: isFolder ? `${whole}/` : `${whole} ` };
    });
  return choices.length === 0 ? undefined : { from: cursor - path.length - 1, eager: true, choices };
}

function entriesOf(folder: string): readonly { readonly name: string; readonly isFolder: boolean }[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
      .toSorted(
        (one, other) => Number(other.isFolder) - Number(one.isFolder) || (one.name < other.name ? -1 : 1),
      );
  } catch {
    // The directory does not exist or is not readable: nothing to complete.
    return [];
  }
}

function plain(word: string): Choice {
  return { label: word, detail: '', insert: word };
}

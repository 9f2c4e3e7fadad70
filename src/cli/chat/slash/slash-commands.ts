import { writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { nearestMatch, PolypodError, systemCodeOf } from '../../../base/index.ts';
import { type CustomCommand, expandCommand } from '../../../setup/index.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import { THINKING_LEVELS } from '../../../llm/index.ts';
import { PERMISSION_MODES } from '../../../tools/index.ts';
import type { SlashCommandContext } from './slash-context.ts';
import { markdownOf } from './export.ts';
import { sessionItems } from '../session-items.ts';
import { redo, rewind, undo } from './rewind.ts';
import { modelItems } from './model-items.ts';
import { backgroundRows, branchRows, costRows, sessionRows } from './slash-rows.ts';

/** A command that is typed in the chat. */
export interface SlashCommand {
  readonly name: string;
  /** The argument as the help shows it; empty if there is none. */
  readonly takes: string;
  readonly summary: string;
  readonly run: (rest: string, context: SlashCommandContext) => Promise<void> | void;
}

/** Runs a command by name. Rejects an unknown name and suggests the closest one. */
export async function runSlash(name: string, rest: string, context: SlashCommandContext): Promise<void> {
  const command = SLASH_COMMANDS.find((each) => each.name === name);
  if (command === undefined) {
    const custom = await context.customCommands();
    const stored = custom.find((each) => each.name === name.toLowerCase());
    if (stored !== undefined) return context.prompt(await expandCommand(stored, rest));
    const near = nearestMatch(
      name,
      [...SLASH_COMMANDS, ...custom].map((each) => each.name),
    );
    const hint = near === undefined ? '/help lists them' : `did you mean /${near}?`;
    throw new PolypodError('bad-request', `there is no command /${name}; ${hint}`);
  }
  if (rest !== '' && command.takes === '')
    throw new PolypodError('bad-request', `/${name} takes no argument`);
  await command.run(rest, context);
}

export const SLASH_COMMANDS: readonly SlashCommand[] = [
  {
    name: 'help',
    takes: '',
    summary: 'list the commands and keys',
    run: async (_, { list, customCommands }) => list(helpRows(await customCommands())),
  },
  {
    name: 'model',
    takes: '[PROVIDER/ID]',
    summary: 'choose the model from a list, or change it',
    async run(rest, { view, location, handle, notify, pick }) {
      const current = `${view.model.provider}/${view.model.modelId}`;
      if (rest === '' && pick === undefined) return notify(current);
      const reference = rest === '' ? await pick?.('Models', await modelItems(location), current) : rest;
      if (reference === undefined) return;
      await handle({ type: 'configure', set: { model: await location.model(reference) } });
    },
  },
  {
    name: 'mode',
    takes: '[MODE]',
    summary: 'show or change the permission mode',
    async run(rest, { view, location, handle, notify }) {
      if (rest === '') return notify(view.settings.mode ?? location.defaultMode ?? 'as configured');
      await handle({ type: 'configure', set: { mode: oneOf(PERMISSION_MODES, rest, 'mode') } });
    },
  },
  {
    name: 'thinking',
    takes: '[LEVEL]',
    summary: 'show or change the thinking level',
    async run(rest, { view, handle, notify }) {
      if (rest === '') return notify(view.settings.thinking ?? 'the default of the model');
      await handle({ type: 'configure', set: { thinking: oneOf(THINKING_LEVELS, rest, 'thinking') } });
    },
  },
  {
    name: 'compact',
    takes: '[INSTRUCTIONS]',
    summary: 'summarise the conversation to free context',
    async run(rest, { handle }) {
      await handle({ type: 'compact', ...(rest === '' ? {} : { instructions: rest }) });
    },
  },
  {
    name: 'branch',
    takes: '[NUMBER]',
    summary: 'return to the point before an earlier prompt',
    async run(rest, context) {
      const prompts = await context.location.prompts(context.pod.id);
      if (rest === '') return context.list(branchRows(prompts.map(({ text }) => text)));
      const prompt = prompts[Number(rest) - 1];
      if (prompt === undefined)
        throw new PolypodError('not-found', `there is no earlier prompt ${rest}: /branch lists them`);
      await context.handle({ type: 'branch', entryId: prompt.before });
      context.suggest(prompt.text);
    },
  },
  {
    name: 'undo',
    takes: '[yes]',
    summary: 'take back the last prompt, with its file changes',
    run: undo,
  },
  {
    name: 'rewind',
    takes: '[NUMBER]',
    summary: 'return to before an earlier prompt: files too',
    run: rewind,
  },
  { name: 'redo', takes: '[yes]', summary: 'undo the last /undo or /rewind', run: redo },
  {
    name: 'fork',
    takes: '',
    summary: 'continue in a copy of this session',
    run: async (_, { location, pod, enter }) => enter(await location.fork(pod.id)),
  },
  {
    name: 'new',
    takes: '',
    summary: 'start a new session',
    run: async (_, { location, enter }) => enter(await location.create()),
  },
  {
    name: 'resume',
    takes: '[ID|NAME]',
    summary: 'resume another session, chosen from a list or named',
    async run(rest, { location, pod, enter, notify, pick }) {
      if (rest !== '') return enter(await location.open(rest));
      if (pick === undefined)
        throw new PolypodError('bad-request', 'the session is missing: /sessions lists them');
      const others = (await location.sessions()).filter(({ id }) => id !== pod.id);
      const items = sessionItems(others, new Date());
      if (items.length === 0) return notify('there is no other session');
      const id = await pick('Sessions', items);
      if (id !== undefined) await enter(await location.open(id));
    },
  },
  {
    name: 'sessions',
    takes: '',
    summary: 'list recent sessions',
    run: async (_, { location, list }) => list(await sessionRows(location)),
  },
  {
    name: 'name',
    takes: 'NAME',
    summary: 'name this session',
    async run(rest, { handle, view, notify }) {
      if (rest === '')
        return notify(view.settings.name ?? 'this session has no name: set one with /name NAME');
      await handle({ type: 'configure', set: { name: rest } });
    },
  },
  {
    name: 'continue',
    takes: '',
    summary: 'resume a paused run',
    run: async (_, { handle }) => void (await handle({ type: 'resume' })),
  },
  {
    name: 'questions',
    takes: '',
    summary: 'show pending approval requests again',
    run: (_, { askAgain }) => askAgain(),
  },
  {
    name: 'clear-queue',
    takes: '',
    summary: 'remove queued messages',
    run: async (_, { handle }) => void (await handle({ type: 'clear-queue' })),
  },
  {
    name: 'shell',
    takes: 'COMMAND',
    summary: 'run a shell command, like !COMMAND',
    async run(rest, { handle }) {
      if (rest === '')
        throw new PolypodError('bad-request', 'the command is missing, as in /shell git status');
      await handle({ type: 'shell', command: rest });
    },
  },
  {
    name: 'commands',
    takes: '[end ID|all]',
    summary: "list the agent's background commands, or end them",
    run: backgroundCommands,
  },
  {
    name: 'todos',
    takes: '',
    summary: "show the agent's to-do list",
    run(_, { view, list }) {
      const rows = view.todos.map(({ content, status }) => `${TODO_MARKS[status]} ${content}`);
      list(rows.length === 0 ? ['the list is empty'] : rows);
    },
  },
  {
    name: 'tools',
    takes: '',
    summary: 'list the available tools',
    async run(_, { pod, list }) {
      const { tools } = await pod.briefing();
      const width = Math.max(...tools.map(({ name }) => name.length));
      list(tools.map(({ name, description }) => `${name.padEnd(width)}  ${firstSentence(description)}`));
    },
  },
  {
    name: 'cost',
    takes: '',
    summary: 'show tokens and cost',
    run: (_, { view, list }) => list(costRows(view)),
  },
  {
    name: 'copy',
    takes: '',
    summary: 'copy the last answer',
    run(_, { view, copy, notify }) {
      if (view.answer === '') return notify('there is no answer yet');
      notify(copy(view.answer) ? 'copied' : 'cannot copy without a terminal');
    },
  },
  {
    name: 'export',
    takes: '[FILE]',
    summary: 'write the conversation to a Markdown file',
    run: exportTo,
  },
  { name: 'quit', takes: '', summary: 'exit', run: (_, { leave }) => leave() },
];

const TODO_MARKS = { pending: '☐', in_progress: '▸', completed: '☑' } as const;

const KEYS: readonly (readonly [string, string])[] = [
  ['Enter', 'send; during a run: steer it'],
  ['Alt-Enter', 'a new line; during a run: queue a follow-up'],
  ['\\ Enter, Ctrl-J', 'a new line'],
  ['Ctrl-C', 'clear the input, cancel the run, or exit (twice)'],
  ['Esc Esc', 'cancel the run; without one: /rewind'],
  ['Ctrl-D', 'exit'],
  ['Ctrl-O', 'expand the last collapsed part; again: the previous'],
  ['Up, Down', 'previous prompts'],
  ['Ctrl-R', 'search the previous prompts'],
  ['Ctrl-G', 'edit the input with $VISUAL or $EDITOR'],
  ['Ctrl-L', 'redraw the screen'],
  ['Tab, @', 'complete commands; after @: files of the directory'],
  ['!cmd, !!cmd', 'run a command; with !! the model does not see it'],
];

function helpRows(custom: readonly CustomCommand[]): readonly string[] {
  const row = ({ name, takes, summary }: Omit<SlashCommand, 'run'>) =>
    [`/${name} ${takes}`.trim(), summary] as const;
  const builtIn = SLASH_COMMANDS.map(row);
  // The argument of a custom command can be long, and must not displace the other texts.
  const width = Math.max(...[...builtIn, ...KEYS].map(([left]) => left.length));
  return [...builtIn, ...customRows(custom).map(row), ...KEYS].map(
    ([left, right]) => `${left.padEnd(width)}  ${right}`,
  );
}

/** Custom commands as lists show them. A built-in command with the same name takes precedence. */
export function customRows(
  custom: readonly CustomCommand[],
): readonly Pick<SlashCommand, 'name' | 'takes' | 'summary'>[] {
  return custom
    .filter(({ name }) => !SLASH_COMMANDS.some((command) => command.name === name))
    .map(({ name, takes, description, of }) => ({
      name,
      takes,
      summary: sanitizeLine(`${description} (${of})`),
    }));
}

async function backgroundCommands(rest: string, context: SlashCommandContext): Promise<void> {
  const { view, list, handle } = context;
  if (rest === '') return list(backgroundRows(view.background, new Date()));
  const { id } = /^end\s+(?<id>\S+)$/.exec(rest)?.groups ?? {};
  if (id === undefined)
    throw new PolypodError(
      'bad-request',
      'the command is missing, as in /commands end ID or /commands end all',
    );
  await handle({ type: 'end-background', ...(id !== 'all' && { id }) });
}

async function exportTo(rest: string, { pod, view, notify }: SlashCommandContext): Promise<void> {
  const name = rest === '' ? `polypod-${pod.id.slice(-8)}.md` : rest;
  const path = isAbsolute(name) ? name : join(view.cwd, name);
  try {
    await writeFile(path, await markdownOf(pod), { mode: 0o600, flag: 'wx' });
  } catch (thrown) {
    if (systemCodeOf(thrown) !== 'EEXIST') throw thrown;
    throw new PolypodError('conflict', `${path} already exists: choose another file`, { cause: thrown });
  }
  notify(`written to ${path}`);
}

function oneOf<T extends string>(known: readonly T[], word: string, what: string): T {
  const found = known.find((one) => one === word);
  if (found !== undefined) return found;
  throw new PolypodError('bad-request', `${what} cannot be "${word}": one of ${known.join(', ')}`);
}

function firstSentence(text: string): string {
  return /^[^]*?[.:](?=\s|$)/.exec(text)?.[0].replace(/:$/, '.') ?? text;
}

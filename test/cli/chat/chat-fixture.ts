import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAIN, temporaryDirectory } from '../polypod.ts';
import { openShell, type Pane } from '../../terminal/tmux.ts';

export interface Home {
  readonly home: string;
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A home directory with a project, without any settings of this machine. */
export function newHome(user = 'ada'): Home {
  const home = temporaryDirectory();
  const project = join(home, 'project');
  mkdirSync(project);
  return { home, project, env: { HOME: home, USER: user, OLLAMA_HOST: 'http://127.0.0.1:9' } };
}

export const has = (text: string) => (lines: readonly string[]) => lines.some((line) => line.includes(text));

/** The last line is the status line. */
export const isIdle = (lines: readonly string[]) => lines.at(-1)?.includes('· idle') === true;

/** A shell in the project of a home. */
export async function shellIn({ project, env }: Home, columns = 80, rows = 24): Promise<Pane> {
  const pane = await openShell(columns, rows, env);
  pane.type(`cd ${project} && clear`);
  pane.press('Enter');
  await pane.see((lines) => lines.length === 1 && lines.at(-1) === '$');
  return pane;
}

/** Starts the program in a shell, like a user. */
export function startIn(pane: Pane, args: string): void {
  pane.type(`clear; node ${MAIN} ${args}`);
  pane.press('Enter');
}

/** A chat with the simulated model that is ready for input. */
export async function openChat(home: Home, args = '', columns = 80, rows = 24): Promise<Pane> {
  const pane = await shellIn(home, columns, rows);
  startIn(pane, `chat --offline ${args}`);
  await pane.see(isIdle);
  return pane;
}

/** Types a text, waits until the input shows it, and submits it. */
export async function submit(pane: Pane, text: string): Promise<void> {
  pane.type(text);
  await pane.see((lines) => unbroken(lines.join('')).includes(unbroken(text).slice(-16)));
  pane.press('Enter');
}

/** A long text may be wrapped at any position. */
function unbroken(text: string): string {
  return text.replace(/\s+/g, '');
}

/**
 * Answers the approval on the screen. Letters are ignored for a short time after an approval appears, because they may have been
 * typed for something else. That time starts before the screen shows the approval.
 */
export async function answer(pane: Pane, letter: string): Promise<void> {
  await pane.see(has('y yes, once'));
  await sleep(450);
  pane.type(letter);
}

/** A prompt that makes the simulated model call a tool and then answer with a text. */
export function calling(tool: string, args: object, text: string): string {
  return `do it [[sim tool=${tool} args='${JSON.stringify(args)}' text='${text}']]`;
}

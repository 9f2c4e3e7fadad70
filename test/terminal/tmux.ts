import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Compiled } from '../compiled.ts';
import { temporaryDirectory } from '../cli/polypod.ts';

export const hasTmux = (() => {
  try {
    execFileSync('tmux', ['-V']);
    return true;
  } catch {
    return false;
  }
})();

export interface Pane {
  /** Types text, or presses keys by their tmux names. */
  type(text: string): void;
  press(...keys: readonly string[]): void;
  paste(text: string): void;
  resize(columns: number, rows: number): void;
  /** Returns the visible lines, or all lines including the scrollback. */
  screen(): string[];
  all(): string[];
  /** Returns the visible lines with the escape sequences of their styles. */
  painted(): string[];
  /** The title that the program has set. */
  title(): string;
  /** Sends bytes as the terminal does, such as a report of its focus. */
  send(bytes: string): void;
  /** Writes everything that the program prints from now on to a file. */
  record(file: string): void;
  /** Resolves when the lines match. */
  see(matches: (lines: readonly string[]) => boolean): Promise<void>;
}

/** Whether a process belongs to one of these sessions, by their ids. Each pane of tmux has a session. */
function isSessionAlive(ids: readonly string[]): boolean {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return processes.some((pid) => {
    try {
      // The name of the program is in parentheses and may contain spaces.
      const [, state, , , session = ''] =
        /\) (\S) (\S+) (\S+) (\S+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
      return state !== 'Z' && ids.includes(session);
    } catch {
      return false;
    }
  });
}

/** How often the terminal is captured before the test fails with its content. */
const PATIENCE = 3_000;

/** Returns the command that starts the demo with the compiled terminal library. */
export function demoCommand({ directory }: Pick<Compiled, 'directory'>): string {
  return `node ${resolve('test/terminal/demo.mjs')} ${directory}`;
}

/** Opens the demo in a real terminal, started from a shell as a user would. */
export async function openDemo(command: string, columns: number, rows: number): Promise<Pane> {
  const pane = await openShell(columns, rows);
  pane.type(command);
  pane.press('Enter');
  // Not the end of a long command line, which may contain the same word.
  await pane.see((lines) => /^demo\s+\d+x\d+$/.test(lines.at(-1) ?? ''));
  return pane;
}

/** Opens a shell in a real terminal, with these variables and few others. */
export async function openShell(
  columns: number,
  rows: number,
  variables: Readonly<Record<string, string>> = {},
): Promise<Pane> {
  const socket = join(temporaryDirectory(), 'tmux');
  const env = { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', TERM: 'xterm-256color', ...variables };
  const tmux = (...args: readonly string[]) =>
    execFileSync('tmux', ['-u', '-S', socket, '-f', '/dev/null', ...args], { env, encoding: 'utf8' });
  tmux('new-session', '-d', '-x', `${columns}`, '-y', `${rows}`, "PS1='$ ' sh");
  onTestFinished(async () => {
    const shells = tmux('list-panes', '-a', '-F', '#{pane_pid}').trim().split('\n');
    tmux('kill-server');
    // The programs in the terminal may write to directories that the test removes next.
    while (isSessionAlive(shells)) await sleep(20);
  });
  const captured = (...args: readonly string[]) =>
    tmux('capture-pane', '-p', ...args)
      .trimEnd()
      .split('\n')
      .map((line) => line.trimEnd());
  const pane: Pane = {
    type: (text) => void tmux('send-keys', '-l', text),
    press: (...keys) => void tmux('send-keys', ...keys),
    paste: (text) => void tmux('set-buffer', text, ';', 'paste-buffer', '-p', '-r'),
    resize: (width, height) => void tmux('resize-window', '-x', `${width}`, '-y', `${height}`),
    screen: () => captured(),
    all: () => captured('-S', '-'),
    painted: () => captured('-e'),
    title: () => tmux('display-message', '-p', '#{pane_title}').trimEnd(),
    send: (bytes) =>
      void tmux(
        'send-keys',
        '-H',
        ...[...Buffer.from(bytes)].map((byte) => byte.toString(16).padStart(2, '0')),
      ),
    record: (file) => void tmux('pipe-pane', '-o', `cat > ${file}`),
    async see(matches) {
      for (let tries = 0; !matches(pane.all()); tries += 1) {
        if (tries > PATIENCE) throw new Error(`the terminal still shows\n${pane.all().join('\n')}`);
        await sleep(20);
      }
    },
  };
  await pane.see((lines) => lines.at(-1) === '$');
  return pane;
}

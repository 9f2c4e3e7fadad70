import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, PolypodError } from '../base/index.ts';
import type { PodHandle } from '../daemon/index.ts';
import { THINKING_LEVELS } from '../llm/index.ts';
import { readMcpConfig } from '../mcp/index.ts';
import type { SettingsChange } from '../pod/index.ts';
import {
  ASK_WHICH,
  holdChat,
  pickSession,
  type Place,
  placeHere,
  placeInDaemon,
  type PlaceWish,
  withBareResume,
} from './chat/index.ts';
import { type Runnable, runnable, type Surroundings } from './command.ts';
import { DATA_DIR, placesOf } from './data-dir.ts';
import { MODES } from './modes.ts';
import { directoryAt } from './new.ts';

const command = runnable({
  name: 'chat',
  summary: 'Talk with an agent that works in this directory.',
  usage: '[OPTIONS] [PROMPT…]',
  options: {
    resume: { type: 'text', short: 'r', value: 'ID|NAME', help: 'go on with a session; alone: choose one' },
    continue: { type: 'flag', short: 'c', help: 'go on with the last session of this directory' },
    name: { type: 'text', short: 'n', value: 'NAME', help: 'what the new session is called' },
    model: {
      type: 'text',
      short: 'm',
      value: 'PROVIDER/ID',
      help: 'which model; a provider alone takes its default',
    },
    mode: { type: 'choice', choices: MODES, help: 'what it may do unasked (default: workspace-write)' },
    thinking: { type: 'choice', choices: THINKING_LEVELS, help: 'how long to think before each step' },
    'allow-path': {
      type: 'texts',
      value: 'PATH',
      help: 'a path beside the directory that it may use; may be repeated',
    },
    sandbox: { type: 'flag', help: 'run commands in a bubblewrap sandbox: writes only here, no network' },
    cwd: { type: 'text', short: 'C', value: 'DIR', help: 'the directory to work in (default: this one)' },
    system: { type: 'text', short: 's', value: 'TEXT', help: 'added to what the agent is told about itself' },
    'mcp-config': {
      type: 'text',
      value: 'FILE',
      help: 'MCP servers to use, as JSON: { "mcpServers": { … } }',
    },
    offline: { type: 'flag', help: 'use the built-in simulated model' },
    plain: { type: 'flag', help: 'lines only, as without a terminal' },
    'no-session': { type: 'flag', help: 'keep nothing' },
    'no-daemon': { type: 'flag', help: 'run in this process, also if a daemon is up' },
    ...DATA_DIR,
  },
  takesSessions: false,
  details: `
Enter sends; while the agent works it steers, and Alt-Enter says it when the agent is done. Ctrl-C cancels the run, Ctrl-D
leaves. What it may not do by itself it asks: y, n with a word on what to do instead, always, or edit the call first.
/help lists the commands, !COMMAND runs one of your own, @ completes a file, and an image is sent by pasting its path.

Without a terminal, and with --plain, each line of the input is a prompt, or the answer to a question, and the exit code
says how the runs ended: 0 well, 1 stopped by a bound, 2 refused or denied because nobody answered, 3 provider or system.

The session is kept and listed (polypod ls). With a daemon up (polypod serve) it lives there; without one it lives in this
process, and polypod attach reaches it as long as this runs.

Examples:
  polypod chat
  polypod chat "What does this project do?"
  polypod chat --continue
  polypod chat --resume
  echo "Summarise README.md" | polypod chat --mode read-only`,
  async run({ values, positionals }, around) {
    refuseContradictions(values);
    const places = placesOf(values, around);
    const allowPaths = await Promise.all(values['allow-path'].map(existing));
    const { name, model, mode, thinking, system } = values;
    const wish: PlaceWish = {
      places,
      fresh: {
        cwd: await directoryAt(values.cwd ?? '.'),
        ...(name === undefined ? {} : { name }),
        ...(model === undefined ? {} : { model }),
        ...(mode === undefined ? {} : { mode }),
        ...(thinking === undefined ? {} : { thinking }),
        ...(system === undefined ? {} : { appendSystem: system }),
      },
      offline: values.offline,
      isFleeting: values['no-session'],
      allowPaths,
      sandbox: values.sandbox,
      mcpServers: await serversIn(values['mcp-config']),
    };
    const isHere =
      values['no-daemon'] || values['no-session'] || values.sandbox || values['mcp-config'] !== undefined;
    const place = (isHere ? undefined : await placeInDaemon(wish, around)) ?? (await placeHere(wish, around));
    const prompt = positionals.length === 0 ? undefined : positionals.join(' ');
    const pod = await resumed(place, { ...values, allowPaths }, around).catch(async (thrown: unknown) => {
      await place.close();
      throw thrown;
    });
    const { plain: isPlain, 'no-session': isFleeting } = values;
    return holdChat({ place, pod, prompt, places, isPlain, isFleeting }, around);
  },
});

/** `polypod chat`: an agent on the terminal. */
export const chat: Runnable = {
  ...command,
  run: (argv, around) => command.run(withBareResume(argv), around),
};

interface Stated {
  readonly resume: string | undefined;
  readonly continue: boolean;
  readonly cwd: string | undefined;
  readonly offline: boolean;
  readonly model: string | undefined;
  readonly mode: SettingsChange['mode'];
  readonly thinking: SettingsChange['thinking'];
  readonly system: string | undefined;
  readonly allowPaths: readonly string[];
}

/** The session to go on with, set as the options say; undefined for a new one. */
async function resumed(place: Place, stated: Stated, around: Surroundings): Promise<PodHandle | undefined> {
  const word = await wordFor(place, stated, around);
  if (word === undefined) return undefined;
  const pod = await place.open(word);
  const { model, mode, thinking, system, offline, allowPaths } = stated;
  const reference = offline ? 'sim/offline' : model;
  const set: SettingsChange = {
    ...(reference === undefined ? {} : { model: await place.model(reference) }),
    ...(mode === undefined ? {} : { mode }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(system === undefined ? {} : { appendSystem: system }),
    ...(allowPaths.length === 0 ? {} : { paths: allowPaths }),
  };
  if (Object.keys(set).length > 0) await pod.handle({ type: 'configure', set }, place.me);
  return pod;
}

async function wordFor(
  place: Place,
  { resume, continue: goesOn, cwd = '.' }: Stated,
  around: Surroundings,
): Promise<string | undefined> {
  if (resume === ASK_WHICH) return pickSession(await place.sessions(), around);
  if (resume !== undefined || !goesOn) return resume;
  const here = resolve(cwd);
  const last = (await place.sessions()).find((row) => row.cwd === here && !row.archived);
  if (last === undefined)
    throw new PolypodError('not-found', `no session was held in ${here}: leave out --continue to begin one`);
  return last.id;
}

function refuseContradictions(values: {
  readonly offline: boolean;
  readonly model: string | undefined;
  readonly resume: string | undefined;
  readonly continue: boolean;
  readonly cwd: string | undefined;
  readonly name: string | undefined;
  readonly 'no-session': boolean;
}): void {
  const { offline, model, resume, cwd, name } = values;
  const exclude = (one: string, other: string): PolypodError =>
    new PolypodError('bad-request', `${one} and ${other} exclude each other`);
  if (offline && model !== undefined) throw exclude('--offline', '--model');
  if (resume !== undefined && values.continue) throw exclude('--resume', '--continue');
  const option = resume === undefined ? '--continue' : '--resume';
  if (resume === undefined && !values.continue) return;
  if (values['no-session']) throw exclude(option, '--no-session');
  if (name !== undefined)
    throw new PolypodError('bad-request', `--name is for a new session: leave out ${option}`);
  if (resume !== undefined && cwd !== undefined)
    throw new PolypodError('bad-request', 'a session goes on in its own directory: leave out --cwd');
}

async function existing(path: string): Promise<string> {
  const full = resolve(path);
  await stat(full).catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot allow ${path}: ${messageOf(thrown)}`, { cause: thrown });
  });
  return full;
}

async function serversIn(file: string | undefined) {
  if (file === undefined) return [];
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot read the MCP servers: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  });
  return readMcpConfig(text);
}

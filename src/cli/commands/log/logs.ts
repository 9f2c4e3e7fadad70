import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject, PolypodError, tryParse } from '../../../base/index.ts';
import { followLines } from '../../../daemon/index.ts';
import { daemonLogFile, findSession, type DataPaths } from '../../../setup/index.ts';
import { Layout, sessionsIn } from '../../../pod/sessions.ts';
import { EXIT, runnable, type CommandContext } from '../../command.ts';
import { DATA_DIR, dataPathsOf } from '../../args/data-dir.ts';
import { eventLine } from '../../output/event-line.ts';
import { entryIn, logLine } from '../../output/log-line.ts';
import { brush, wantsColour, sanitizeLine } from '../../../terminal/index.ts';

/** `polypod logs`: prints the log of the daemon, or the events of a pod. */
export const logs = runnable({
  name: 'logs',
  summary: "Show the daemon's log, or the events of a pod.",
  usage: '[OPTIONS] [ID|NAME]',
  options: {
    follow: { type: 'flag', short: 'f', help: 'print new lines until interrupted' },
    lines: { type: 'number', short: 'n', value: 'N', min: 0, help: 'print only the last N existing lines' },
    after: { type: 'number', value: 'SEQ', min: 0, help: 'of a pod: print only events after this number' },
    json: { type: 'flag', help: 'print the JSON lines unchanged' },
    ...DATA_DIR,
  },
  takes: 'sessions',
  details: `
This command reads the files, so it works without a daemon and for pods of other processes. Event numbers only
increase: use --after to continue after the last number you have seen. See polypod audit for decisions, changes and
rejected requests.

Examples:
  polypod logs -f
  polypod logs --json --after 1200 refactoring
  polypod logs -f 9f3a41c7`,
  async run({ values, positionals: [word, ...more] }, context) {
    if (more.length > 0) throw new PolypodError('bad-request', 'logs takes one session at most');
    const dataPaths = dataPathsOf(values, context);
    const source =
      word === undefined ? daemonSource(dataPaths) : podSource(dataPaths, word, values.after ?? 0);
    if (!existsSync(source.directory)) {
      context.stderr.write(`polypod: ${source.none}\n`);
      return EXIT.ok;
    }
    const shown = values.json ? (line: string) => `${line}\n` : source.readable(context);
    const print = (lines: readonly string[]) => context.stdout.write(lines.map(shown).join(''));
    const { signal } = context;
    let past: string[] | undefined = [];
    for await (const lines of followLines({ ...source, follow: values.follow, signal })) {
      const kept = lines.filter(source.keep);
      if (past === undefined) print(kept);
      else if (lines.length > 0) past.push(...kept);
      else {
        print(past.slice(Math.max(0, past.length - (values.lines ?? past.length))));
        past = undefined;
      }
    }
    return EXIT.ok;
  },
});

interface Source {
  readonly files: () => readonly string[];
  readonly directory: string;
  readonly none: string;
  /** Whether a line is printed; each numbered line is printed once. */
  readonly keep: (line: string) => boolean;
  readonly readable: (context: CommandContext) => (line: string) => string;
}

function daemonSource(dataPaths: DataPaths): Source {
  const file = daemonLogFile(dataPaths);
  const directory = dirname(file);
  return {
    files: () => [file],
    directory,
    none: `no daemon has logged anything in ${directory} so far`,
    keep: () => true,
    readable: ({ stdout, env }) => {
      const paint = brush(wantsColour(stdout, env));
      return (line) => {
        const entry = entryIn(line);
        return entry === undefined ? `${sanitizeLine(line)}\n` : logLine(entry, paint);
      };
    },
  };
}

function podSource({ dataDirectory }: DataPaths, word: string, after: number): Source {
  const { id } = findSession(sessionsIn(dataDirectory), word);
  const directory = new Layout(dataDirectory).feed(id);
  let last = after;
  return {
    files: () =>
      readdirSync(directory)
        .filter((name) => /^\d+\.jsonl$/.test(name))
        .toSorted()
        .map((name) => join(directory, name)),
    directory,
    none: `the session ${id} has no events so far`,
    keep: (line) => {
      const event = tryParse(line);
      if (!isObject(event) || typeof event.seq !== 'number' || event.type === 'rest' || event.seq <= last)
        return false;
      last = event.seq;
      return true;
    },
    readable: () => eventLine,
  };
}

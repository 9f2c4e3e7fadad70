import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type ControlLink, type PodHandle, remotePod } from '../../src/control/index.ts';
import { daemonLink } from '../../src/daemon/index.ts';
import { dataPathsFrom } from '../../src/setup/index.ts';
import type { PodEvent } from '../../src/pod/index.ts';
import { type Script, type SimAnswer, type Sim, startSim } from '../../src/sim/index.ts';
import { polypod, type Running, start, temporaryDirectory, type User } from './polypod.ts';

export const call = (name: string, args: object): SimAnswer => ({
  parts: [{ toolCall: { name, arguments: args } }],
});
export const textAnswer = (text: string): SimAnswer => ({ parts: [{ text }] });

/** A home directory with a project, a model that follows the script, and the daemons that run there. */
export interface CliFixture {
  readonly sim: Sim;
  readonly home: string;
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
  readonly dataDirectory: string;
  configure(yaml: string): void;
  polypod(...args: readonly string[]): ReturnType<typeof polypod>;
  /** Starts a daemon and waits until it is ready. */
  serve(...args: readonly string[]): Promise<Running>;
  link(): Promise<ControlLink>;
  pod(id: string): Promise<PodHandle>;
}

/** With a user, the home directory belongs to that user, who also runs the commands. */
export async function cliFixture(script: Script = [], user: User = {}): Promise<CliFixture> {
  const sim = await startSim({ script });
  onTestFinished(() => sim.close());
  const home = temporaryDirectory();
  const project = join(home, 'project');
  mkdirSync(project);
  const give = (path: string): void => {
    if (user.uid !== undefined) chownSync(path, user.uid, user.gid ?? user.uid);
  };
  [home, project].forEach(give);
  const env = {
    HOME: home,
    ANTHROPIC_BASE_URL: sim.url,
    ANTHROPIC_API_KEY: 'sk-test-0123456789abcdefghij',
    USER: 'ada',
  };
  const dataPaths = dataPathsFrom(env);
  const link = async (): Promise<ControlLink> => {
    const opened = await daemonLink(dataPaths);
    if (opened === undefined) throw new Error('no daemon is up');
    onTestFinished(() => opened.close());
    return opened;
  };
  return {
    sim,
    home,
    project,
    env,
    dataDirectory: dataPaths.dataDirectory,
    link,
    configure: (yaml) => {
      mkdirSync(join(home, '.config/polypod'), { recursive: true });
      writeFileSync(join(home, '.config/polypod/config.yaml'), yaml, { mode: 0o600 });
      ['.config', '.config/polypod', '.config/polypod/config.yaml'].forEach((path) => give(join(home, path)));
    },
    polypod: (...args) => polypod(args, { env, user }),
    serve: async (...args) => {
      const running = start(['serve', '--json', ...args], env, user);
      const end = running.finished.then(({ code, stderr }) => {
        throw new Error(`serve ended with ${code}: ${stderr}`);
      });
      end.catch(() => {});
      await Promise.race([running.waitForOutput('{"pid":'), end]);
      return running;
    },
    pod: async (id) => remotePod(id, await link()),
  };
}

/** Resolves with the first matching event, starting with the pod's first event. */
export async function waitForEvent(pod: PodHandle, matches: (event: PodEvent) => boolean): Promise<PodEvent> {
  const leave = new AbortController();
  try {
    for await (const watched of pod.watch({ after: 0, signal: leave.signal })) {
      const event = watched.type === 'events' ? watched.batch.events.find(matches) : undefined;
      if (event !== undefined) return event;
    }
  } finally {
    leave.abort();
  }
  throw new Error('the pod was closed');
}

export const isType =
  (type: PodEvent['type']) =>
  (event: PodEvent): boolean =>
    event.type === type;

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlLink } from '../../../control/index.ts';
import { readAgent } from '../../../daemon/index.ts';
import type { DataPaths } from '../../../setup/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';

/** Follows an agent of a daemon that was already running: Ctrl-C closes the door of the agent, and the daemon continues. */
export async function followAgent(
  name: string,
  dataPaths: DataPaths,
  link: ControlLink,
  { signal, stderr }: CommandContext,
): Promise<ExitCode> {
  const over = new AbortController();
  // Requests on one connection are sequential, and this one waits until the connection closes.
  const ear = await link.another();
  const ends: readonly Promise<End>[] = [
    signal.aborted
      ? Promise.resolve('interrupted')
      : once(signal, 'abort').then(() => 'interrupted' as const),
    ear.disconnected().then(() => 'daemon gone'),
    closed(name, dataPaths, over.signal).then(() => 'closed'),
  ];
  const end = await Promise.race(ends);
  over.abort();
  ear.close();
  if (end === 'interrupted') await link.call('agent-stop', { name });
  else stderr.write(`polypod agent: ${name} ${SAY[end]}\n`);
  return end === 'daemon gone' ? EXIT.broken : EXIT.ok;
}

type End = 'interrupted' | 'daemon gone' | 'closed';

const SAY = {
  'daemon gone': 'has ended with its daemon: see polypod logs',
  closed: 'was closed by another client',
} as const;

/** Resolves when the agent was stopped or replaced. */
async function closed(name: string, dataPaths: DataPaths, signal: AbortSignal): Promise<void> {
  const startedAt = readAgent(dataPaths, name)?.startedAt;
  while (!signal.aborted && readAgent(dataPaths, name)?.startedAt === startedAt)
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
}

const LOOK_MS = 500;

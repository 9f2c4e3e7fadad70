import { constants } from 'node:os';
import type { CommandEnd } from '../process/run-command.ts';
import { formatCount } from '../text/shorten.ts';

/** Returns how a command failed; undefined for success. */
export function outcomeText(
  {
    by,
    exitCode,
    signal,
    durationMs,
    wrapper,
  }: Pick<CommandEnd, 'by' | 'exitCode' | 'signal' | 'durationMs' | 'wrapper'>,
  timeout: number,
): string | undefined {
  if (by === 'cancel') return `cancelled after ${formatSeconds(durationMs)}; all its processes were ended`;
  if (by === 'timeout')
    return `not done after ${formatCount(timeout, 'second')}, so all its processes were ended; give a longer timeout if it needs more`;
  if (exitCode === 0) return undefined;
  const [name] =
    Object.entries(constants.signals).find(([, number]) => number === (exitCode ?? 0) - 128) ?? [];
  if (wrapper !== undefined && name !== undefined) return `exit code ${exitCode} (${name})`;
  return exitCode === null ? `ended by ${signal ?? 'a signal'}` : `exit code ${exitCode}`;
}

/** Returns lines for the model about the processes that a command left. */
export function processNotes({ by, processes: { ended, survivors } }: CommandEnd): readonly string[] {
  const hasLeftovers = by === 'itself' && ended.length > 0;
  return [
    ...(hasLeftovers ? [`[left in the background and ended: ${ended.slice(0, MAX_NAMED).join('; ')}]`] : []),
    ...(survivors.length === 0
      ? []
      : [`[these processes could not be ended: ${survivors.slice(0, MAX_NAMED).join('; ')}]`]),
  ];
}

export function formatSeconds(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}

const MAX_NAMED = 5;

import { type BackgroundCommands, type BackgroundListener } from '../../tools/index.ts';
import type { PodFact } from '../event.ts';
import type { PodView } from '../view/view.ts';

/** Publishes the start and the end of background commands. */
export function backgroundEvents(publish: (fact: PodFact) => void): BackgroundListener {
  return {
    onStart: ({ id, command, callId, startedAt }) =>
      publish({
        type: 'background-start',
        id,
        command,
        callId,
        startedAt: new Date(startedAt).toISOString(),
      }),
    onEnd: ({ id, command }, { status, message }) =>
      publish({ type: 'background-end', id, command, status, message }),
  };
}

/** Lines for the model about the background commands that have ended since its last request. */
export function backgroundNotices({ background }: PodView, commands: BackgroundCommands): readonly string[] {
  const known = new Set(commands.all().map(({ id }) => id));
  return [...background.values()].flatMap(({ id, command, end }) => {
    if (end === undefined) return [];
    const next = known.has(id) ? '; bash_output reads its output' : '';
    return [`[background command ${id} (${command}): ${end.message}${next}]`];
  });
}

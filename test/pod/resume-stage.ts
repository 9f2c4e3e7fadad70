import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { textContent } from '../../src/llm/index.ts';
import type { PodEvent, Snapshot } from '../../src/pod/index.ts';
import { snapshotOf } from '../../src/pod/snapshot.ts';
import { PodView } from '../../src/pod/view/view.ts';
import type { Answer, Part, SimRequest } from '../../src/sim/index.ts';
import type { Tool } from '../../src/tools/index.ts';
import { scratch } from './stage.ts';

export { turns } from './resume-random.ts';

/**
 * A model that does what it is told: `call <tool> <arguments>` on a line of its own is a call of that tool, all other
 * lines are said back. After the results it says `done`.
 */
export function obedient({ messages }: SimRequest): Answer {
  const last = messages.at(-1);
  if (last === undefined || last.role !== 'user') return { parts: [{ text: 'done' }] };
  const lines = last.text.split('\n').filter((line) => line !== '' && !line.startsWith('[['));
  return { parts: lines.map(partOf) };
}

function partOf(line: string): Part {
  const [, thought] = /^think (.*)$/u.exec(line) ?? [];
  if (thought !== undefined) return { thinking: thought };
  const [, name, args = '{}'] = /^call (\S+) ?(.*)$/u.exec(line) ?? [];
  if (name === undefined) return { text: `you said ${line}` };
  return { toolCall: { name, argumentsText: args === '' ? '{}' : args } };
}

/** A tool that changes the world, as far as the policy knows: it is asked about. Tells when it is really run. */
export function witness(ran: (callId: string, input: unknown) => void | Promise<void>): Tool {
  return {
    name: 'witness',
    description: 'Is seen to run.',
    parameters: { type: 'object' },
    parallel: true,
    prepare: (input) => ({
      access: [{ type: 'foreign', readOnly: false }],
      title: 'witness',
      run: async ({ callId, update }) => {
        update('about to');
        await ran(callId, input);
        return { summary: 'seen', content: textContent('seen'), isError: false };
      },
    }),
  };
}

/** What the events add up to, in the words of a snapshot; what no event tells is taken from `like`. */
export function sumOf(events: readonly PodEvent[], like: Snapshot): Snapshot {
  const view = new PodView();
  for (const { seq, entryId: _, ...fact } of events) if (seq <= like.seq) view.apply(fact);
  const { seq, id, cwd, createdAt, model, leafId, stats } = like;
  return snapshotOf(view, { seq, id, cwd, createdAt, model, leafId, stats });
}

/** The directory as a kill at this moment leaves it: all that was written, and locks whose owner is gone. */
export function killedCopy(directory: string): string {
  const copy = join(scratch(), 'data');
  cpSync(directory, copy, { recursive: true });
  // The owner of the locks still lives, but not in the world of the copy.
  const names = readdirSync(copy, { recursive: true, encoding: 'utf8' });
  for (const name of names)
    if (name.endsWith('.lock')) rmSync(join(copy, name), { recursive: true, force: true });
  return copy;
}

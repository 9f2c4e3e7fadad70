import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { textContent } from '../../../src/llm/index.ts';
import type { PodEvent, Snapshot } from '../../../src/pod/index.ts';
import { snapshotOf } from '../../../src/pod/snapshot.ts';
import { PodView } from '../../../src/pod/view/view.ts';
import type { SimAnswer, Part, SimRequest } from '../../../src/sim/index.ts';
import type { Tool } from '../../../src/tools/index.ts';
import { scratch } from '../fixture.ts';

export { turns } from './resume-random.ts';

/**
 * A scripted model: `call <tool> <arguments>` on its own line calls that tool, and all other lines are repeated. After the
 * results it answers `done`.
 */
export function scriptedModel({ messages }: SimRequest): SimAnswer {
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

/** A tool that the policy treats as changing something, so it needs approval. Reports when it runs. */
export function recordingTool(ran: (callId: string, input: unknown) => void | Promise<void>): Tool {
  return {
    name: 'record_call',
    description: 'Records its calls.',
    parameters: { type: 'object' },
    parallel: true,
    prepare: (input) => ({
      access: [{ type: 'foreign', readOnly: false }],
      title: 'record_call',
      run: async ({ callId, update }) => {
        update('about to');
        await ran(callId, input);
        return { summary: 'seen', content: textContent('seen'), isError: false };
      },
    }),
  };
}

/** The sum of the events as a snapshot; fields without an event are copied from `like`. */
export function sumOf(events: readonly PodEvent[], like: Snapshot): Snapshot {
  const view = new PodView();
  for (const { seq, entryId: _, ...fact } of events) if (seq <= like.seq) view.apply(fact);
  const { seq, id, cwd, createdAt, model, leafId, stats } = like;
  return snapshotOf(view, { seq, id, cwd, createdAt, model, leafId, stats });
}

/** The directory as a kill at this moment leaves it: all written files, and locks without an owner. */
export function killedCopy(directory: string): string {
  const copy = join(scratch(), 'data');
  cpSync(directory, copy, { recursive: true });
  // The owner of the locks is still alive, but not from the point of view of the copy.
  const names = readdirSync(copy, { recursive: true, encoding: 'utf8' });
  for (const name of names)
    if (name.endsWith('.lock')) rmSync(join(copy, name), { recursive: true, force: true });
  return copy;
}

import { describe } from 'vitest';
import { stageProgram } from './program.ts';
import { stage } from './in-process-fixture.ts';
import type { Stage } from './fixture.ts';

const STAGES: readonly (readonly [string, Stage])[] = [
  ['over two streams', stage],
  ['over the pipes of the built program', (script, wishes) => stageProgram(script, wishes)],
];

/** Runs the same tests for every kind of connection. */
export function describeOnEach(body: (stage: Stage) => void): void {
  describe.each(STAGES)('%s', (_, stage) => body(stage));
}

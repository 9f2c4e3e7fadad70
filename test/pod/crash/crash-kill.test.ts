import { join } from 'node:path';
import { SessionManager } from '@mariozechner/pi-coding-agent';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sim, startSim } from '../../../src/sim/index.ts';
import { boundariesOf, problemsOfKill, Program } from './kill-sweep.ts';
import { script } from './test-agents.ts';

/** Whether to kill a process at every boundary; otherwise at some. */
const IS_WHOLE = process.env.POLYPOD_POD_KILLS === 'all';
const SAMPLE = Number(process.env.POLYPOD_POD_KILLS ?? 10);
/** The number of concurrent processes. */
const ABREAST = 3;

let sim: Sim;
let program: Program;
beforeAll(async () => {
  sim = await startSim({ script });
  program = new Program();
});
afterAll(async () => {
  program.remove();
  await sim.close();
});

describe('a process that is killed at any boundary', () => {
  it('loses no accepted command and repeats no effect when its pods are opened again', {
    timeout: IS_WHOLE ? 3_600_000 : 120_000,
  }, async () => {
    const boundaries = await boundariesOf(sim.url, program);
    const count = IS_WHOLE ? boundaries : SAMPLE;
    const points = Array.from({ length: count }, (_, index) =>
      Math.floor(((index + 0.5) / count) * boundaries),
    );
    const problems: string[] = [];
    let openedByPi = 0;
    const work = points.entries();
    const worker = async (): Promise<void> => {
      for (const [index, at] of work) {
        const found = await problemsOfKill({
          url: sim.url,
          program,
          at,
          // Every third one is killed again while it is being opened.
          ...(index % 3 === 2 && { again: (at * 7) % 60 }),
          check: ({ directory, ids }) => {
            if (index % 5 !== 4) return;
            for (const id of Object.values(ids)) {
              const pi = SessionManager.open(join(directory, 'sessions', `${id}.jsonl`));
              expect(pi.getSessionId()).toBe(id);
              const messages = JSON.stringify(pi.buildSessionContext().messages);
              expect(messages).toContain('note last-');
              openedByPi += 1;
            }
          },
        });
        problems.push(...found);
      }
    };
    await Promise.all(Array.from({ length: ABREAST }, worker));
    expect(problems).toEqual([]);
    console.log(
      `pod kill sweep: killed at ${points.length} of ${boundaries} boundaries; nothing accepted was lost, nothing done twice; pi opened ${openedByPi} of the sessions`,
    );
  });
});

import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attacker, type Outcome, type Served, serve, startAttacker } from './attacker.ts';
import type { Attempt } from './attempt.ts';
import { FAMILIES } from './families/index.ts';
import { type Layout, makeLayout } from './layout.ts';

export interface Suite {
  readonly title: string;
  /** Options of `polypod run`. */
  readonly options: readonly string[];
  /** Whether the mode allows the agent to change the workspace. */
  readonly writes: boolean;
  /** Effects that are allowed in this mode, with the reason at their definition. */
  readonly excused?: readonly string[];
  /** How many attempts a normal test run makes; all of them with POLYPOD_HOSTILE=all. */
  readonly sample: number;
  /** The user who runs the program; default: the user of the tests. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

interface Chosen {
  readonly family: string;
  readonly attempt: Attempt;
}

const EVERYTHING: readonly Chosen[] = Object.entries(FAMILIES).flatMap(([family, attempts]) =>
  attempts.map((attempt) => ({ family, attempt })),
);

/** The attempts that are made with options of `polypod run`. */
function attemptsWith(options: readonly string[]): readonly Chosen[] {
  const isSandboxed = options.includes('--sandbox');
  return EVERYTHING.filter(({ attempt }) => !isSandboxed || attempt.notInSandbox === undefined);
}

/** Attempts per run of the program: each run keeps them in its conversation. */
const BATCH = 150;

/** Lets a hostile model make its attempts in one mode, and expects that none succeeds. */
export function hostileSuite({ title, options, writes, sample, owner, excused = [] }: Suite): void {
  // The same sample in every run: the gate fails only for what a change broke.
  const seed = Number(process.env['POLYPOD_SEED'] ?? 1);
  const chosen =
    process.env['POLYPOD_HOSTILE'] === 'all'
      ? attemptsWith(options)
      : choose(attemptsWith(options), sample, seed);

  describe(`${title} (${chosen.length} of ${EVERYTHING.length} attempts, POLYPOD_SEED=${seed})`, () => {
    const outcomes: (Outcome & { readonly family: string })[] = [];
    let attacker: Attacker;
    let layout: Layout;
    let daemon: Served;
    let parent: string;

    beforeAll(async () => {
      parent = parentFor(owner);
      attacker = await startAttacker();
      layout = await makeLayout(parent, owner);
      daemon = await serve(layout, attacker.url);
      for (let start = 0; start < chosen.length; start += BATCH) {
        const batch = chosen.slice(start, start + BATCH);
        const attempts = batch.map(({ attempt }) => attempt);
        const found = await attacker.attack(layout, { attempts, options, writes });
        outcomes.push(...found.map((one, index) => ({ ...one, family: batch[index]?.family ?? '' })));
      }
    }, 1_800_000);

    afterAll(async () => {
      await daemon.stop();
      await attacker.close();
      layout.close();
    });

    it('makes every attempt', () => {
      expect(outcomes.length).toBe(chosen.length);
      // An attempt whose calls have no result was not made.
      expect(outcomes.filter(({ attempt, results }) => results.length !== attempt.calls.length)).toEqual([]);
    });

    it.each(Object.keys(FAMILIES))(
      '%s: nothing outside the scope is touched, nothing runs without approval',
      (family) => {
        expect(
          outcomes.filter((one) => one.family === family).flatMap((one) => report(one, excused)),
        ).toEqual([]);
      },
    );

    it('leaves the daemon unchanged: no unrequested session or key', async () => {
      expect(await daemon.unexpectedSessions()).toEqual([]);
    });
  });
}

function report({ attempt, violations, results }: Outcome, excused: readonly string[]): readonly string[] {
  return violations
    .filter((what) => !excused.includes(what))
    .map((what) => `${attempt.name}: ${what} (the model read: ${results.join(' | ').slice(0, 300)})`);
}

/**
 * Outside /tmp if possible: a sandbox has its own /tmp, which would hide what it must protect. Sockets need a
 * short path.
 */
export function parentFor(owner: Suite['owner']): string {
  const coverage = resolve('coverage');
  if (owner !== undefined || coverage.length > 40) return tmpdir();
  mkdirSync(coverage, { recursive: true });
  return coverage;
}

/** A sample with attempts of every family in proportion; deterministic for a seed. */
function choose(all: readonly Chosen[], count: number, seed: number): readonly Chosen[] {
  const random = randomFrom(seed);
  const shuffled = all.map((one) => ({ one, at: random() })).toSorted((a, b) => a.at - b.at);
  const quota = (family: string): number =>
    Math.max(8, Math.ceil(((FAMILIES[family]?.length ?? 0) * count) / EVERYTHING.length));
  const taken = new Map<string, number>();
  return shuffled.flatMap(({ one }) => {
    const before = taken.get(one.family) ?? 0;
    taken.set(one.family, before + 1);
    return before < quota(one.family) ? [one] : [];
  });
}

/** Mulberry32: small, and good enough for sampling. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

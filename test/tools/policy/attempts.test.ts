import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { judgeAttempt, perform, usual } from './attempt.ts';
import { ATTEMPTS, type Row } from './attempts.ts';
import { freshWorkspace, guarded, hasCanary, outside, snapshot, type Workspace } from './workspace.ts';

/** The kinds of attack that the specification lists; each is tried in many ways. */
const ATTACKS = [
  'traversal',
  'links and swaps',
  'absolute paths',
  'nested shells',
  'operators',
  'substitutions',
  'heredocs and redirections',
  'environment tricks',
  'wrappers',
  'secrets',
  'quoting and encoding',
];

/** The workspace of the last attempt, as long as it is unchanged. */
let unchanged: Workspace | undefined;

const rows = Object.values(ATTEMPTS).flat();

describe('the table of attempts', () => {
  it('is as large as specified', () => {
    expect(rows.length).toBeGreaterThanOrEqual(120);
    expect(rows.filter(isFenced).length).toBeGreaterThanOrEqual(40);
    for (const attack of ATTACKS) {
      const refused = ATTEMPTS[attack]?.filter(([decision]) => decision !== 'allow') ?? [];
      expect(refused.length, attack).toBeGreaterThanOrEqual(10);
    }
  });
});

describe.each(Object.entries(ATTEMPTS))('%s', (_, attempts) => {
  it.each(attempts.map((row) => [titleOf(row), row] as const))('%s', async (_title, row) => {
    const [decision, attempt, change] = row;
    const context = { ...usual, ...change };
    const workspace = (unchanged ??= await freshWorkspace());
    const verdict = await judgeAttempt(attempt, context, workspace);
    expect(verdict).toMatchObject({ decision });
    expect(verdict.reason).toMatch(/^\S[^\n]*\.$/s);
    if (decision !== 'allow') return;

    unchanged = undefined;
    const before = snapshot(workspace.root);
    const output = await perform(attempt, context, workspace);
    const after = snapshot(workspace.root);
    expect(outside(after)).toEqual(outside(before));
    if (isFenced(row)) {
      expect(guarded(after)).toEqual(guarded(before));
      expect(hasCanary(output), output).toBe(false);
    }
    if (context.mode === 'read-only') expect(after).toEqual(before);
    if (isDeepStrictEqual(after, before)) unchanged = workspace;
  });
});

/** Whether it is allowed although not everything is. */
function isFenced([decision, , change]: Row): boolean {
  return decision === 'allow' && change?.mode !== 'full-access';
}

function titleOf([decision, attempt, change]: Row): string {
  const what = attempt.tool === 'bash' ? attempt.command : `${attempt.tool} ${attempt.path}`;
  const suffix = change === undefined ? '' : ` ${JSON.stringify(change)}`;
  return `${decision}: ${JSON.stringify(what).slice(0, 100)}${suffix}`;
}

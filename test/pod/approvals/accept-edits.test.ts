import { describe, expect, it } from 'vitest';
import { acceptingEdits } from '../../../src/pod/live/run/accept-edits.ts';
import { judge, type Rule } from '../../../src/tools/index.ts';

const PROJECT = { read: ['/project'], write: ['/project'] };

/** The outcome of a write to a file. */
function verdictOn(path: string, rules: readonly Rule[]): string {
  return judge(
    { tool: 'write', access: [{ type: 'write', path, location: { real: path } }] },
    { mode: 'workspace-write', rules, scope: PROJECT, sandboxed: false },
  ).decision;
}

describe('accept-edits', () => {
  it.each<[string, string, readonly Rule[], string, string]>([
    ['spares the question about a file that may hold secrets', '/project/.env', [], 'ask', 'allow'],
    ['spares what a rule would ask', '/project/a', [{ tool: 'write', action: 'ask' }], 'ask', 'allow'],
    ['ends at the project', '/etc/a', [], 'ask', 'ask'],
    [
      'allows nothing that a rule forbids for the tool',
      '/project/a',
      [{ tool: 'write', action: 'deny' }],
      'deny',
      'deny',
    ],
    [
      'allows nothing that a rule forbids for every tool',
      '/project/a',
      [{ path: 'a', action: 'deny' }],
      'deny',
      'deny',
    ],
    [
      'allows nothing that a rule forbids for tools named like it',
      '/project/a',
      [{ tool: 'wr*', action: 'deny' }],
      'deny',
      'deny',
    ],
    [
      'leaves what a rule allows before another forbids the rest',
      '/project/src/a',
      [
        { path: 'src/**', action: 'auto' },
        { path: '**', action: 'deny' },
      ],
      'allow',
      'allow',
    ],
    [
      'cares nothing for what is forbidden to other tools',
      '/project/.env',
      [{ tool: 'bash', action: 'deny' }],
      'ask',
      'allow',
    ],
  ])('%s', (_, path, rules, without, accepted) => {
    expect(verdictOn(path, rules)).toBe(without);
    expect(verdictOn(path, acceptingEdits(rules))).toBe(accepted);
  });
});

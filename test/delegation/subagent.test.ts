import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, textAnswer } from '../cli/daemon.ts';
import { delegates, familyFixture, reports, results, run, sessions, task, write } from './fixture.ts';

describe('the tool subagent', () => {
  it('runs a child in its own session and returns its last message', async () => {
    const fixture = await familyFixture({
      parent: reports({ 'write it': { prompt: 'Write a.txt.' } }),
      child: (_, turn) =>
        turn === 0
          ? {
              parts: [
                { text: 'Not the result.' },
                ...call('write', { path: 'a.txt', content: 'one\n' }).parts,
              ],
            }
          : textAnswer('Written.'),
    });
    const { stdout, stderr, code } = await run(fixture);
    expect({ stdout, code }).toEqual({ stdout: 'Written.\n', code: 0 });
    expect(stderr).toMatch(/general: write it\n.*1 tool call · polypod attach [0-9a-f]{12}\n/);
    expect(readFileSync(join(fixture.project, 'a.txt'), 'utf8')).toBe('one\n');
    const [parent, child] = await sessions(fixture);
    expect(child).toMatchObject({
      parentId: parent?.id,
      spawned: true,
      annotations: { subagent: 'write it' },
    });
  });

  it('counts the tokens of its children for the parent', async () => {
    const fixture = await familyFixture({ parent: reports({ one: {}, two: {} }) });
    expect((await run(fixture)).stdout).toBe('Done. | Done.\n');
    const [parent, ...children] = await sessions(fixture);
    const own = fixture.sim.requests.filter(
      ({ body }) => !JSON.stringify(body).includes('sub-agent:'),
    ).length;
    const total = (name: string): number =>
      children.reduce((sum, { totals }) => sum + (totals[name] ?? 0), 0);
    expect(own).toBe(2);
    expect(parent?.totals.turns).toBe(2);
    expect(total('inputTokens')).toBeGreaterThan(0);
    expect(parent?.totals.inputTokens).toBeGreaterThan(total('inputTokens'));
    expect(parent?.totals.outputTokens).toBeGreaterThan(total('outputTokens'));
    // The totals are also read from the session file.
    const resumed = await fixture.polypod('run', '--resume', parent?.id ?? '', '-m', 'anthropic/x', 'Again');
    expect(resumed.code).toBe(0);
    expect((await sessions(fixture))[0]?.totals.inputTokens).toBeGreaterThan(parent?.totals.inputTokens ?? 0);
  });

  it('is not available to sub-agents', async () => {
    const tools: string[] = [];
    const fixture = await familyFixture({
      parent: reports({ nested: {} }),
      child: (request) => {
        tools.push(...request.tools.map(({ name }) => name));
        return textAnswer('Done.');
      },
    });
    expect((await run(fixture)).code).toBe(0);
    expect(tools).toContain('bash');
    expect(tools).not.toContain('subagent');
  });

  it('returns the reason if a sub-agent refuses, fails or reaches its limit of turns', async () => {
    const fixture = await familyFixture({
      parent: reports({ refuses: {}, fails: {}, continues: {} }),
      child: (request, turn) => {
        if (task(request) === 'refuses') return { parts: [{ text: 'I will not.' }], stop: 'refusal' };
        if (task(request) === 'fails') return { parts: [], fault: { kind: '401' } };
        return call('bash', { command: `echo ${turn}` });
      },
    });
    const { stdout } = await run(fixture, '--max-turns', '3');
    expect(stdout).toContain(
      'did not finish: the model declined to answer.\nThe last thing it wrote:\nI will not.',
    );
    expect(stdout).toContain('did not finish: invalid x-api-key');
    expect(stdout).toContain('did not finish: the run has reached its limit of 3 turns');
  });

  it('rejects an unknown type with the known ones', async () => {
    const fixture = await familyFixture({ parent: reports({ odd: { type: 'wizard' } }) });
    expect((await run(fixture)).stdout).toBe(
      'There is no sub-agent type wizard. The types are: general, explore.\n',
    );
    expect(await sessions(fixture)).toHaveLength(1);
  });

  it('stops sub-agents when the budget of the run is used up', async () => {
    const fixture = await familyFixture({
      parent: (request, turn) =>
        turn === 0
          ? delegates({ one: {}, two: {}, three: {}, four: {}, five: {} })
          : textAnswer(results(request).join()),
      // $3 at the price below.
      child: (_, turn) => ({
        ...call('bash', { command: `echo ${turn}` }),
        usage: { inputTokens: 1_000_000, outputTokens: 0 },
      }),
    });
    const price = { input: 3, output: 15 };
    write(join(fixture.home, '.config/polypod'), {
      'models.json': JSON.stringify([{ account: 'anthropic', id: 'x', price }]),
    });
    const { code, stderr } = await run(fixture, '--budget', '8');
    expect(code).toBe(1);
    expect(stderr).toContain('the run has reached its budget of $8');
    // Three answers of any sub-agents exceed the budget. If each had its own, each would get three: 16 with that of the parent.
    expect(fixture.sim.requests.length).toBeLessThan(16);
  });

  it('lists the sessions of sub-agents only with --all, below the session that they work for', async () => {
    const fixture = await familyFixture({
      parent: reports({ 'look around': { prompt: 'Find it.', type: 'explore' } }),
    });
    await run(fixture);
    expect((await fixture.polypod('ls')).stdout).not.toContain('look around');
    const { stdout } = await fixture.polypod('ls', '--all');
    expect(stdout).toMatch(/ Go *\n.*└ look around: Find it\./);
    const chat = await fixture.polypod('chat', '--continue', '-C', fixture.project, '--plain', 'Hello');
    expect(chat.code).toBe(0);
    const last = fixture.sim.requests.at(-1);
    expect(JSON.stringify(last?.body)).not.toContain('You are a sub-agent');
  });

  it('leaves no sessions of sub-agents when the session of their parent is removed', async () => {
    const fixture = await familyFixture({ parent: reports({ one: {}, two: {} }) });
    await run(fixture);
    const [parent, ...children] = await sessions(fixture);
    expect(children).toHaveLength(2);
    expect((await fixture.polypod('rm', '--yes', parent?.id ?? '')).code).toBe(0);
    expect(await sessions(fixture)).toEqual([]);
    const trash = JSON.parse((await fixture.polypod('trash', '--json')).stdout) as unknown[];
    expect(trash).toHaveLength(3);
  });

  it('brings the sessions of sub-agents back with their parent from the trash, except one removed before', async () => {
    const fixture = await familyFixture({ parent: reports({ one: {}, two: {} }) });
    await run(fixture);
    const [parent, one, two] = await sessions(fixture);
    for (const session of [one, parent])
      expect((await fixture.polypod('rm', '--yes', session?.id ?? '')).code).toBe(0);
    expect((await fixture.polypod('trash', 'restore', parent?.id ?? '')).code).toBe(0);
    const restored = (await sessions(fixture)).map(({ id }) => id);
    expect(new Set(restored)).toEqual(new Set([parent?.id, two?.id]));
  });
});

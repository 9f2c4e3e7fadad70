import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PodEvent } from '../../src/pod/index.ts';
import { call, type CliFixture, textAnswer, waitForEvent } from '../cli/daemon.ts';
import { killAndWait, start } from '../cli/polypod.ts';
import { survivorsOf, token } from '../tools/survivors.ts';
import { STALLS } from '../protocols/tasks/fixture.ts';
import { familyFixture, reports, results, sessions, task, tries } from './fixture.ts';

const POLL = { timeout: 60_000, interval: 50 };

/** Starts a run in the daemon and returns the session of the parent when its sub-agents are running. */
async function startedRun(fixture: CliFixture, children: number): Promise<string> {
  start(['run', '-C', fixture.project, '-m', 'anthropic/x', '--mode', 'workspace-write', 'Go'], {
    ...fixture.env,
  });
  const requests = () =>
    fixture.sim.requests.filter(({ body }) => JSON.stringify(body).includes('You are a sub-agent')).length;
  await expect.poll(requests, POLL).toBeGreaterThanOrEqual(children);
  const found = async () => (await sessions(fixture)).find(({ spawned = false }) => !spawned)?.id;
  await expect.poll(found, POLL).toBeDefined();
  return (await found()) ?? '';
}

/** The state of every session and the outcome of its last run. */
const states = async (fixture: CliFixture) =>
  (await sessions(fixture)).map(({ state, lastRun }) => `${state} ${lastRun?.status}`);

describe('the end of a sub-agent', () => {
  it('ends its background commands', async () => {
    const mark = token();
    const fixture = await familyFixture({
      parent: reports({ one: {} }),
      child: tries('bash', { command: `sleep ${mark}`, background: true }),
    });
    await fixture.serve();
    const args = ['run', '-C', fixture.project, '-m', 'anthropic/x', '--mode', 'full-access', 'Go'];
    const { code, stdout } = await fixture.polypod(...args);
    expect(code).toBe(0);
    expect(stdout).toContain('Tried:');
    await expect.poll(() => survivorsOf(mark), POLL).toEqual([]);
  });
});

describe('the end of a parent', () => {
  it('that is cancelled cancels its sub-agents', async () => {
    const fixture = await familyFixture({ parent: reports({ one: {}, two: {} }), child: () => STALLS });
    await fixture.serve();
    const parent = await startedRun(fixture, 2);
    expect((await fixture.polypod('sessions', 'interrupt', parent)).code).toBe(0);
    await expect
      .poll(() => states(fixture), POLL)
      .toEqual(['idle cancelled', 'idle cancelled', 'idle cancelled']);
  });

  it('that is cancelled starts none of the sub-agents that wait because 8 are running', async () => {
    const work = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`part ${at}`, {}]));
    const fixture = await familyFixture({ parent: reports(work), child: () => STALLS });
    await fixture.serve();
    const parent = await startedRun(fixture, 8);
    const isWaiting = (event: PodEvent): boolean =>
      event.type === 'tool-update' && event.text.startsWith('waiting: 8 sub-agents');
    await waitForEvent(await fixture.pod(parent), isWaiting);
    expect((await fixture.polypod('sessions', 'interrupt', parent)).code).toBe(0);
    await expect.poll(() => states(fixture), POLL).toEqual(Array.from({ length: 9 }, () => 'idle cancelled'));
    expect(fixture.sim.requests).toHaveLength(9);
  });

  it('that is killed leaves no sub-agent running, and its call is settled as interrupted', async () => {
    const fixture = await familyFixture({
      parent: (request, turn) =>
        task(request) === 'Again' || turn > 0
          ? textAnswer(`Then: ${results(request).join()}`)
          : reports({ one: {} })(request, turn),
      child: () => STALLS,
    });
    const daemon = await fixture.serve();
    const parent = await startedRun(fixture, 1);
    await killAndWait(daemon.child);
    await fixture.serve();
    await expect.poll(() => states(fixture), POLL).toEqual(['idle interrupted', 'idle interrupted']);
    const resumed = await fixture.polypod('run', '--resume', parent, '-m', 'anthropic/x', 'Again');
    expect(resumed.code).toBe(0);
    expect(JSON.stringify(fixture.sim.requests.at(-1)?.body)).toContain(
      'Interrupted: the process ended before this call gave its result.',
    );
  });

  it('that is killed later still counts the tokens of its sub-agents', async () => {
    const fixture = await familyFixture({
      parent: (request, turn) => (turn === 0 ? reports({ one: {} })(request, 0) : STALLS),
      child: () => ({ ...textAnswer('Done.'), usage: { inputTokens: 50_000, outputTokens: 1 } }),
    });
    const daemon = await fixture.serve();
    await startedRun(fixture, 1);
    // The request of the parent with the result.
    await expect.poll(() => fixture.sim.requests.length, POLL).toBe(3);
    await killAndWait(daemon.child);
    await fixture.serve();
    const parent = async () => (await sessions(fixture)).find(({ spawned = false }) => !spawned);
    await expect.poll(async () => (await parent())?.lastRun?.status, POLL).toBe('interrupted');
    expect((await parent())?.totals.inputTokens).toBeGreaterThan(50_000);
  });

  for (const [how, stop] of [
    ['killed', killAndWait],
    [
      'stopped',
      async (child: ChildProcess) => {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
      },
    ],
  ] as const)
    it(`that is ${how} while a sub-agent waits for approval withdraws the approval`, async () => {
      const fixture = await familyFixture({
        parent: reports({ one: {} }),
        child: tries('bash', { command: 'touch made.txt' }),
      });
      const daemon = await fixture.serve();
      const link = await fixture.link();
      const { stdout } = await fixture.polypod('new', '-C', fixture.project, '-m', 'anthropic/x');
      const pod = await fixture.pod(stdout.trim());
      await pod.handle(
        { type: 'prompt', content: [{ type: 'text', text: 'Go' }] },
        { by: 'ada', door: 'test' },
      );
      const asked = async () => (await sessions(fixture)).flatMap(({ approvals }) => approvals);
      // In the child and in the parent.
      await expect.poll(asked, POLL).toHaveLength(2);
      const [approval] = await asked();
      link.close();
      await stop(daemon.child);
      const requests = fixture.sim.requests.length;
      await fixture.serve();
      await expect.poll(asked, POLL).toEqual([]);
      const late = await fixture.polypod('approvals', 'approve', approval?.approvalId ?? '');
      expect(late.code).toBe(2);
      const all = await states(fixture);
      expect(all.map((state) => state.split(' ')[0])).toEqual(['idle', 'idle']);
      expect(fixture.sim.requests).toHaveLength(requests);
      expect(existsSync(join(fixture.project, 'made.txt'))).toBe(false);
    });
});

describe('a parent that becomes read-only', () => {
  it('makes its running sub-agents read-only', async () => {
    const fixture = await familyFixture({
      parent: reports({ one: {} }),
      child: (request, turn) =>
        turn === 0
          ? call('bash', { command: 'touch asked.txt' })
          : turn === 1
            ? call('write', { path: 'made.txt', content: 'x' })
            : textAnswer(results(request).join()),
    });
    await fixture.serve();
    const { stdout } = await fixture.polypod('new', '-C', fixture.project, '-m', 'anthropic/x');
    const pod = await fixture.pod(stdout.trim());
    const ada = { by: 'ada', door: 'test' };
    await pod.handle({ type: 'prompt', content: [{ type: 'text', text: 'Go' }] }, ada);
    const asked = async () =>
      (await sessions(fixture)).find(({ spawned = false }) => !spawned)?.approvals[0]?.approvalId;
    await expect.poll(asked, POLL).toBeDefined();
    await pod.handle({ type: 'configure', set: { mode: 'read-only' } }, ada);
    await pod.handle({ type: 'decide', approvalId: (await asked()) ?? '', decision: 'approve' }, ada);
    await expect.poll(() => states(fixture), POLL).toEqual(['idle finished', 'idle finished']);
    expect(existsSync(join(fixture.project, 'made.txt'))).toBe(false);
    const last = fixture.sim.requests.map(({ body }) => JSON.stringify(body)).at(-1);
    expect(last).toContain('read-only');
  });
});

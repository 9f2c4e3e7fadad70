import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { SimRequest } from '../../../src/sim/index.ts';
import { AGENTS, isInstalled, type TestedAgent } from './agents.ts';
import { expectBalanced, hosted, inOrder, isRunning, STALLS, text } from './fixture.ts';

/** The agents to test, by name; by default those that the gate installs. */
const NAMES = (process.env.POLYPOD_AGENTS ?? 'polypod,claude,codex').split(',');
const TESTED = AGENTS.filter(({ name }) => NAMES.includes(name)).map((agent) => [agent.name, agent] as const);
const WRAPPER = fileURLToPath(new URL('garbage.mjs', import.meta.url));

const seen = (request: SimRequest | undefined): string => JSON.stringify(request?.messages ?? []);

describe.each(TESTED)('%s', (_, agent: TestedAgent) => {
  const hasProgram = agent.command !== undefined;
  const check = test.skipIf(!isInstalled(agent));
  const checkProgram = test.skipIf(!isInstalled(agent) || !hasProgram);
  const touch = (file: string) => ({ toolCall: agent.bash(`touch ${file}`) });

  check('runs a prompt to completion', async () => {
    const { session, requests } = await hosted(agent, inOrder(text('Hello from the model.')));
    expect((await session.run('Say hello to Ada.')).outcome).toEqual({ status: 'finished' });
    expect(session.answer()).toBe('Hello from the model.');
    expect(seen(requests[0])).toContain('Say hello to Ada.');
    expectBalanced(session.events);
  });

  check('runs a call after it was approved', async () => {
    const { session, project, requests } = await hosted(
      agent,
      inOrder({ parts: [{ text: 'I create it.' }, touch('made')] }, text('It is there.')),
    );
    await session.prompt('Create the file made.');
    const [approval] = await session.approvals(1);
    expect(existsSync(join(project, 'made'))).toBe(false);
    expect(approval?.title).toContain('touch made');
    await session.decide(approval?.approvalId ?? '', 'approve');
    expect((await session.ended()).outcome).toEqual({ status: 'finished' });
    expect(existsSync(join(project, 'made'))).toBe(true);
    expect((await session.next('tool-end')).status).toBe('done');
    expect(session.answer()).toContain('It is there.');
    expect(requests).toHaveLength(2);
    expectBalanced(session.events);
  });

  check('does not run a call that was denied', async () => {
    const { session, project, requests } = await hosted(
      agent,
      inOrder({ parts: [touch('made')] }, text('Then I leave it.')),
    );
    await session.prompt('Create the file made.');
    const [approval] = await session.approvals(1);
    await session.decide(approval?.approvalId ?? '', 'deny', 'use another name');
    await session.ended();
    expect((await session.next('tool-end')).status).toBe('denied');
    expect(existsSync(join(project, 'made'))).toBe(false);
    if (agent.sendsReasons) expect(seen(requests[1])).toContain('use another name');
    expectBalanced(session.events);
  });

  check('is cancelled in the middle of an answer, and continues with the next prompt', async () => {
    const { session } = await hosted(agent, inOrder(STALLS, text('Next.')));
    await session.prompt('Tell me everything.');
    await session.next('block-delta');
    await session.handle({ type: 'cancel' });
    expect((await session.ended()).outcome).toEqual({ status: 'cancelled' });
    expect((await session.run('Go on.')).outcome).toEqual({ status: 'finished' });
    expect(session.answer()).toBe('Next.');
    expectBalanced(session.events);
  });

  check('is cancelled while a call waits for approval', async () => {
    const { session, project } = await hosted(agent, inOrder({ parts: [touch('made')] }, text('Next.')));
    await session.prompt('Create the file made.');
    await session.approvals(1);
    await session.handle({ type: 'cancel' });
    expect((await session.ended()).outcome).toEqual({ status: 'cancelled' });
    expect((await session.next('approval-response')).status).toBe('cancelled');
    expect(existsSync(join(project, 'made'))).toBe(false);
    expect((await session.run('Go on.')).outcome).toEqual({ status: 'finished' });
    expectBalanced(session.events);
  });

  check('receives a steering message during a run', async () => {
    const { session, requests } = await hosted(
      agent,
      inOrder({ parts: [touch('made')] }, text('First.'), text('Second.')),
    );
    await session.prompt('Create the file made.');
    const [approval] = await session.approvals(1);
    await session.handle({ type: 'steer', content: [{ type: 'text', text: 'Use British spelling.' }] });
    await session.decide(approval?.approvalId ?? '', 'approve');
    expect((await session.ended()).outcome).toEqual({ status: 'finished' });
    expect(await session.next('input', ({ origin }) => origin === 'steer')).toMatchObject({ by: 'ada' });
    expect(seen(requests.at(-1))).toContain('Use British spelling.');
    expectBalanced(session.events);
  });

  check('runs parallel calls', async () => {
    const { session, project } = await hosted(
      agent,
      inOrder({ parts: [touch('one'), touch('two')] }, text('Both are there.')),
    );
    await session.prompt('Create two files.');
    const decided = new Set<string>();
    while (decided.size < 2) {
      const { approval } = await session.next(
        'approval-request',
        (event) => !decided.has(event.approval.approvalId),
      );
      decided.add(approval.approvalId);
      await session.decide(approval.approvalId, 'approve');
    }
    expect((await session.ended()).outcome).toEqual({ status: 'finished' });
    expect(['one', 'two'].map((name) => existsSync(join(project, name)))).toEqual([true, true]);
    expectBalanced(session.events);
  });

  check('reports a failing tool to the model', async () => {
    const { session, requests } = await hosted(
      agent,
      inOrder({ parts: [{ toolCall: agent.bash('cat no-such-file') }] }, text('It failed.')),
    );
    await session.prompt('Read it.');
    const [approval] = await Promise.race([
      session.approvals(1),
      // Our own policy may allow a command that only reads.
      session.next('run-end').then(() => []),
    ]);
    if (approval !== undefined) await session.decide(approval.approvalId, 'approve');
    expect((await session.ended()).outcome).toEqual({ status: 'finished' });
    const { status, output } = await session.next('tool-end');
    if (agent.marksFailures)
      expect({ status, isError: output.isError }).toEqual({ status: 'failed', isError: true });
    expect(seen(requests[1])).toContain('No such file');
  });

  check('reports the usage of tokens', async () => {
    const { session } = await hosted(agent, inOrder({ ...text('Hello.'), usage: { inputTokens: 1_234 } }));
    const { totals } = await session.run('Count.');
    expect(totals.inputTokens).toBeGreaterThan(0);
  });

  checkProgram('is resumed after its program was killed', async () => {
    const { session, requests, programs } = await hosted(agent, inOrder(text('One.'), text('Two.')));
    await session.run('Remember the word heliotrope.');
    const [program = 0] = programs();
    process.kill(program, 'SIGKILL');
    await expect.poll(() => isRunning(program)).toBe(false);
    expect((await session.run('Which word?')).outcome).toEqual({ status: 'finished' });
    expect(session.answer()).toBe('Two.');
    expect(seen(requests.at(-1))).toContain('heliotrope');
  });

  check('is resumed after the daemon was killed', async () => {
    const { session, requests, programs, daemon, serve } = await hosted(
      agent,
      inOrder(text('One.'), text('Two.')),
    );
    await session.run('Remember the word heliotrope.');
    const before = programs();
    daemon().child.kill('SIGKILL');
    await daemon().finished;
    await serve();
    expect((await session.run('Which word?')).outcome).toEqual({ status: 'finished' });
    expect(seen(requests.at(-1))).toContain('heliotrope');
    await expect.poll(() => before.filter(isRunning)).toEqual([]);
  });

  check('keeps a pending approval when the daemon is killed, and runs the call once after it', async () => {
    let project = '';
    const host = await hosted(agent, () =>
      existsSync(join(project, 'made')) ? text('It is there.') : { parts: [touch('made')] },
    );
    ({ project } = host);
    const { session, daemon, serve } = host;
    await session.prompt('Create the file made.');
    await session.approvals(1);
    daemon().child.kill('SIGKILL');
    await daemon().finished;
    await serve();
    const [approval] = await session.approvals(1);
    await session.decide(approval?.approvalId ?? '', 'approve');
    await session.next('run-end', ({ outcome }) => outcome.status === 'finished');
    expect(existsSync(join(project, 'made'))).toBe(true);
    const approvals = session.events.filter(({ type }) => type === 'approval-request');
    expect(approvals).toHaveLength(1);
  });

  checkProgram('fails with its errors if its program ends in the middle of a turn', async () => {
    const { session, programs } = await hosted(agent, inOrder(STALLS, text('Again.')));
    await session.prompt('Tell me everything.');
    await session.next('block-delta');
    for (const program of programs()) process.kill(program, 'SIGKILL');
    const { outcome } = await session.ended();
    expect(outcome).toMatchObject({ status: 'failed', failure: { kind: 'provider' } });
    expect((await session.run('Go on.')).outcome).toEqual({ status: 'finished' });
    expectBalanced(session.events);
  });

  checkProgram('continues although its program writes garbage', async () => {
    const { session } = await hosted(agent, inOrder(text('Hello.')), (command) => [
      process.execPath,
      WRAPPER,
      ...command,
    ]);
    expect((await session.run('Say hello.')).outcome).toEqual({ status: 'finished' });
    expect(session.answer()).toBe('Hello.');
  });
});

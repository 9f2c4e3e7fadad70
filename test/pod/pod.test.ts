import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { arrayOf, objectOf, shape } from '../../src/base/index.ts';
import { textContent, contentText } from '../../src/llm/index.ts';
import type { Pod } from '../../src/pod/index.ts';
import type { SimAnswer } from '../../src/sim/index.ts';
import { defineTool, textOutput, type Tool } from '../../src/tools/index.ts';
import { ADA, BOB, Listener, promptCommand, hostFixture } from './fixture.ts';

const textAnswer = (text: string): SimAnswer => ({ parts: [{ text }] });
const calls = (name: string, args: Record<string, unknown>): SimAnswer => ({
  parts: [{ toolCall: { name, arguments: args } }],
});
const needsApproval = (command = 'node -e 1') => calls('bash', { command });

/** Sends a prompt and waits until the pod is idle again. */
async function prompted(pod: Pod, text: string): Promise<Listener> {
  const { seq } = await pod.snapshot();
  const listener = new Listener(pod, seq);
  await pod.handle(promptCommand(text), ADA);
  await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
  return listener;
}

function toolNames(body: unknown): readonly unknown[] {
  return arrayOf(objectOf(body).tools).map((tool) => objectOf(tool).name);
}

async function texts(pod: Pod): Promise<readonly string[]> {
  const { items } = await pod.snapshot();
  return items.map((item) =>
    item.type === 'message' || item.type === 'tool-result' ? contentText(item.content) : `(${item.type})`,
  );
}

describe('a run', () => {
  it('publishes its events in order, from the receipt on, with who requested it', async () => {
    const { host, cwd } = await hostFixture([textAnswer('Hello.')]);
    const pod = await host.create({ cwd });
    const listener = await prompted(pod, 'hi');
    expect(listener.types.filter((type) => !type.startsWith('block') && type !== 'ping')).toEqual([
      ...['run-start', 'state', 'input', 'turn-start', 'status', 'usage', 'status', 'llm-end', 'turn-end'],
      ...['run-end', 'state'],
    ]);
    const input = await listener.waitForType('input');
    expect(input).toMatchObject({ by: 'ada', door: 'test', origin: 'prompt' });
    expect(listener.events.map(({ seq }) => seq)).toEqual(listener.events.map((_, at) => at + 2));
    expect((await pod.snapshot()).stats.totals).toMatchObject({ turns: 1, toolCalls: 0 });
  });

  it('is rejected while another one is active, or queued on request', async () => {
    const { host, cwd } = await hostFixture([needsApproval(), textAnswer('first'), textAnswer('second')]);
    const pod = await host.create({ cwd });
    const listener = new Listener(pod);
    await listener.joined();
    await pod.handle(promptCommand('one'), ADA);
    const { approval } = await listener.waitForType('approval-request');
    await expect(pod.handle(promptCommand('two'), BOB)).rejects.toThrow(
      `waiting for approval ${approval.approvalId}`,
    );
    const { queueId } = await pod.handle(
      { ...promptCommand('two'), whenBusy: 'queue', taskId: 'task-2' },
      BOB,
    );
    expect(queueId).toBeDefined();
    await pod.handle({ type: 'decide', approvalId: approval.approvalId, decision: 'approve' }, ADA);
    await listener.waitFor((event) => event.type === 'input' && event.queueId === queueId);
    await listener.waitFor(
      (event) => event.type === 'run-end' && listener.types.filter((t) => t === 'run-end').length === 2,
    );
    expect(await texts(pod)).toEqual(['one', '(tool-call)', '(no output)', 'first', 'two', 'second']);
    expect(host.sessions.byTask('task-2')?.id).toBe(pod.id);
  });

  it('applies overrides to itself only', async () => {
    const { host, cwd, sim } = await hostFixture([
      calls('ls', {}),
      textAnswer('never asked for'),
      textAnswer('again'),
    ]);
    const pod = await host.create({ cwd });
    const { seq } = await pod.snapshot();
    const listener = new Listener(pod, seq);
    await pod.handle(
      { ...promptCommand('go'), overrides: { maxTurns: 1, system: 'Other.', tools: ['ls'] } },
      ADA,
    );
    const { outcome } = await listener.waitForType('run-end');
    expect(outcome).toMatchObject({ status: 'limited', limit: 'max-turns' });
    const [first] = sim.requests;
    expect(JSON.stringify(first?.body)).toContain('Other.');
    expect(toolNames(first?.body)).toEqual(['ls']);
    await prompted(pod, 'more');
    expect(toolNames(sim.requests[1]?.body).length).toBeGreaterThan(3);
  });

  it('gives every call a result and cancels its approvals when it is cancelled', async () => {
    const { host, cwd } = await hostFixture([needsApproval(), textAnswer('after')]);
    const pod = await host.create({ cwd });
    const listener = new Listener(pod);
    await listener.joined();
    await pod.handle(promptCommand('go'), ADA);
    const { approval } = await listener.waitForType('approval-request');
    await pod.handle({ type: 'cancel' }, BOB);
    expect(await listener.waitForType('approval-response')).toMatchObject({
      approvalId: approval.approvalId,
      status: 'cancelled',
    });
    expect((await listener.waitForType('run-end')).outcome).toEqual({ status: 'cancelled' });
    expect(listener.events.find(({ type }) => type === 'commanded')).toMatchObject({
      command: 'cancel',
      by: 'bob',
    });
    await expect(pod.handle({ type: 'cancel' }, BOB)).rejects.toThrow('there is no run to cancel');
    await prompted(pod, 'next');
    expect((await texts(pod)).at(-1)).toBe('after');
  });

  it('can be paused before its calls, and resumes without a second approval', async () => {
    const { host, cwd, reopen } = await hostFixture([needsApproval(), textAnswer('done')], {
      approvals: { deadlineMs: 1, fallback: 'pause' },
    });
    const pod = await host.create({ cwd });
    const listener = new Listener(pod);
    await listener.joined();
    await pod.handle(promptCommand('go'), ADA);
    expect((await listener.waitForType('run-end')).outcome).toMatchObject({ status: 'paused' });
    await listener.waitFor((event) => event.type === 'state' && event.state === 'paused');
    await host.shutdown();
    const again = (await reopen({ approvals: { fallback: 'deny' } })).pod(pod.id);
    expect((await again.snapshot()).state).toBe('paused');
    const secondListener = new Listener(again);
    await secondListener.joined();
    await again.handle({ type: 'resume' }, ADA);
    const { approval } = await secondListener.waitForType('approval-request');
    await again.handle({ type: 'decide', approvalId: approval.approvalId, decision: 'approve' }, ADA);
    expect((await secondListener.waitForType('run-end')).outcome).toEqual({ status: 'finished' });
    expect(await texts(again)).toEqual(['go', '(tool-call)', '(no output)', 'done']);
  });
});

describe('after a restart', () => {
  it('numbers, settings, todos and the queue are restored', async () => {
    const { host, cwd, reopen } = await hostFixture([textAnswer('one'), textAnswer('two')]);
    const pod = await host.create({ cwd, settings: { name: 'first', thinking: 'low' } });
    await prompted(pod, 'hi');
    await pod.handle(
      { type: 'configure', set: { mode: 'read-only', name: 'second' }, clear: ['thinking'] },
      ADA,
    );
    await pod.handle({ type: 'set-todos', items: [{ content: 'rest', status: 'pending' }] }, ADA);
    await pod.handle({ type: 'steer', content: textContent('by the way') }, BOB);
    const before = await pod.snapshot();
    await host.shutdown();
    const host2 = await reopen();
    const again = host2.pod(pod.id);
    const after = await again.snapshot();
    expect(after).toEqual(before);
    expect(after.settings).toMatchObject({ mode: 'read-only', name: 'second' });
    expect(after.settings.thinking).toBeUndefined();
    expect(host2.sessions.byName('second')).toHaveLength(1);
    await prompted(again, 'go');
    expect(await texts(again)).toEqual(['hi', 'one', 'go', 'by the way', 'two']);
    expect((await again.snapshot()).queue).toEqual([]);
  });
});

describe('tools of a client', () => {
  const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } };

  it('are called by the model and answered by the client', async () => {
    const { host, cwd } = await hostFixture([calls('look', { at: 'it' }), textAnswer('seen')]);
    const pod = await host.create({ cwd, settings: { clientTools: [tool], mode: 'full-access' } });
    const listener = new Listener(pod);
    await listener.joined();
    await pod.handle(promptCommand('go'), ADA);
    const call = await listener.waitForType('client-call');
    expect(call).toMatchObject({ name: 'look', arguments: '{"at":"it"}' });
    await pod.handle({ type: 'tool-update', callId: call.callId, text: 'half' }, ADA);
    await pod.handle({ type: 'tool-result', callId: call.callId, content: textContent('a tree') }, ADA);
    await listener.waitForType('run-end');
    expect(await texts(pod)).toEqual(['go', '(tool-call)', 'a tree', 'seen']);
    expect(await listener.waitForType('tool-update')).toMatchObject({ text: 'half' });
    await expect(
      pod.handle({ type: 'tool-result', callId: call.callId, content: textContent('late') }, ADA),
    ).rejects.toThrow('no call');
  });

  it('are rejected with an invalid schema, when they are offered', async () => {
    const { host, cwd } = await hostFixture([]);
    const pod = await host.create({ cwd });
    const parameters = { type: 'object', properties: { at: { type: 'string', pattern: '(' } } };
    const set = { clientTools: [tool, { ...tool, name: 'find', parameters }] };
    await expect(pod.handle({ type: 'configure', set }, ADA)).rejects.toMatchObject({
      code: 'bad-request',
      message: expect.stringMatching(
        /^the JSON Schema of the tool "find" cannot be used: Invalid regular expression/,
      ) as unknown,
    });
    expect((await pod.snapshot()).settings.clientTools).toEqual([]);
  });

  it('are not called with arguments that take too long to check', async () => {
    const parameters = { type: 'object', properties: { at: { pattern: '^(a+)+$' } } };
    const { host, cwd } = await hostFixture([
      calls('look', { at: `${'a'.repeat(40)}!` }),
      textAnswer('seen'),
    ]);
    const pod = await host.create({
      cwd,
      settings: { clientTools: [{ ...tool, parameters }], mode: 'full-access' },
    });
    await prompted(pod, 'go');
    expect((await texts(pod))[2]).toContain('arguments: cannot be checked: the check takes longer than 1 s');
  });

  it('are cancelled with the run', async () => {
    const { host, cwd } = await hostFixture([calls('look', {}), textAnswer('x')]);
    const pod = await host.create({ cwd, settings: { clientTools: [tool], mode: 'full-access' } });
    const listener = new Listener(pod);
    await listener.joined();
    await pod.handle(promptCommand('go'), ADA);
    const { callId } = await listener.waitForType('client-call');
    await pod.handle({ type: 'cancel' }, ADA);
    expect(await listener.waitForType('client-cancel')).toMatchObject({ callId });
    await listener.waitForType('run-end');
  });
});

describe("a person's shell command", () => {
  it('is sent to the model with the next prompt, unless it is private', async () => {
    const { host, cwd, sim, reopen } = await hostFixture([textAnswer('ok')]);
    const pod = await host.create({ cwd });
    const listener = new Listener(pod);
    await listener.joined();
    await pod.handle({ type: 'shell', command: 'echo secret', private: true }, ADA);
    await listener.waitForType('shell-end');
    const { shellId } = await pod.handle({ type: 'shell', command: 'echo open' }, ADA);
    const end = await listener.waitFor((event) => event.type === 'shell-end' && event.shellId === shellId);
    expect(end).toMatchObject({ status: 'done', output: { isError: false } });
    await listener.waitFor((event) => event.type === 'input' && event.origin === 'shell');
    await host.shutdown();
    await prompted((await reopen()).pod(pod.id), 'go');
    const sent = JSON.stringify(sim.requests[0]?.body);
    expect(sent).toContain('Ran `echo open`');
    expect(sent).not.toContain('secret');
  });

  it('during a run is added after its end', async () => {
    const { host, cwd } = await hostFixture([needsApproval(), textAnswer('done')]);
    const pod = await host.create({ cwd });
    const listener = new Listener(pod);
    await listener.joined();
    await pod.handle(promptCommand('go'), ADA);
    const { approval } = await listener.waitForType('approval-request');
    await pod.handle({ type: 'shell', command: 'echo mine' }, ADA);
    await listener.waitForType('shell-end');
    await pod.handle(
      { type: 'decide', approvalId: approval.approvalId, decision: 'deny', comment: 'not now' },
      BOB,
    );
    await listener.waitFor((event) => event.type === 'input' && event.origin === 'shell');
    expect(await texts(pod)).toEqual([
      'go',
      '(tool-call)',
      'bob denied this call: not now',
      'done',
      'Ran `echo mine`\n```\nmine\n```',
    ]);
  });

  it('can be stopped', async () => {
    const { host, cwd } = await hostFixture([]);
    const pod = await host.create({ cwd });
    const listener = new Listener(pod);
    await listener.joined();
    const { shellId } = await pod.handle({ type: 'shell', command: 'sleep 60' }, ADA);
    await pod.handle({ type: 'abort-shell', ...(shellId && { shellId }) }, ADA);
    expect(await listener.waitForType('shell-end')).toMatchObject({ status: 'cancelled' });
  });
});

describe('the tree', () => {
  it('branches, and a fork is independent', async () => {
    const { host, cwd, directory } = await hostFixture([
      textAnswer('one'),
      textAnswer('two'),
      textAnswer('other two'),
      textAnswer('forked'),
    ]);
    const pod = await host.create({ cwd });
    await prompted(pod, 'a');
    const listener = await prompted(pod, 'b');
    const { entryId: b } = await listener.waitForType('input');
    const fork = await host.fork(pod.id, { name: 'the fork' });
    await pod.handle({ type: 'branch', entryId: b ?? '' }, ADA);
    expect(await texts(pod)).toEqual(['a', 'one', 'b']);
    await prompted(pod, 'c');
    expect(await texts(pod)).toEqual(['a', 'one', 'b', 'c', 'other two']);
    expect(await texts(fork)).toEqual(['a', 'one', 'b', 'two']);
    await prompted(fork, 'd');
    expect((await texts(fork)).slice(-2)).toEqual(['d', 'forked']);
    expect(host.sessions.get(fork.id)).toMatchObject({ parentId: pod.id, name: 'the fork' });
    expect(readFileSync(join(directory, 'sessions', `${fork.id}.jsonl`), 'utf8').split('\n')[0]).toContain(
      `"parentSession":"${join(directory, 'sessions', `${pod.id}.jsonl`)}"`,
    );
    await expect(pod.handle({ type: 'branch', entryId: 'nowhere' }, ADA)).rejects.toThrow('no entry nowhere');
    await pod.handle({ type: 'branch', entryId: 'root' }, ADA);
    expect(await texts(pod)).toEqual([]);
  });

  it('is compacted, opened from the checkpoint, and branched to an earlier entry', async () => {
    const long = 'word '.repeat(40_000);
    const { host, cwd, reopen } = await hostFixture([
      textAnswer(long),
      textAnswer('two'),
      textAnswer('the sum'),
      textAnswer('three'),
    ]);
    const pod = await host.create({ cwd });
    const first = await prompted(pod, 'a');
    const { entryId } = await first.waitForType('input');
    await prompted(pod, 'b');
    const listener = new Listener(pod, (await pod.snapshot()).seq);
    await pod.handle({ type: 'compact', instructions: 'Be short.' }, ADA);
    const { result } = await listener.waitForType('compaction-end');
    expect(result).toMatchObject({ status: 'compacted', summary: 'the sum' });
    await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
    const before = await pod.snapshot();
    await host.shutdown();
    const again = (await reopen()).pod(pod.id);
    expect((await again.snapshot()).items).toEqual(before.items);
    await again.handle({ type: 'branch', entryId: entryId ?? '' }, ADA);
    expect(await texts(again)).toEqual(['a']);
  });
});

describe('the host', () => {
  it('creates one pod per key, lists, searches, moves to the trash, and rebuilds its catalogue', async () => {
    const { host, cwd, directory } = await hostFixture(() => textAnswer('hi'));
    const pod = await host.create({ cwd, key: 'k1', settings: { name: 'Alpha' } });
    const same = await host.create({ cwd, key: 'k1' });
    expect(same.id).toBe(pod.id);
    const other = await host.create({ cwd });
    await prompted(other, 'find the needle');
    const rows = await host.sessions.list();
    expect(rows.map(({ id }) => id).toSorted()).toEqual([pod.id, other.id].toSorted());
    expect((await host.sessions.search('needle')).map(({ id }) => id)).toEqual([other.id]);
    expect(await host.sessions.recentPaths()).toEqual([cwd]);
    expect(await host.sessions.rebuild()).toEqual({ rows: 2 });
    const rebuilt = await host.sessions.list();
    expect(rebuilt.find(({ id }) => id === pod.id)).toMatchObject({ name: 'Alpha', key: 'k1' });
    expect(rebuilt.find(({ id }) => id === other.id)).toMatchObject({ firstPrompt: 'find the needle' });
    await host.delete(other.id);
    expect(() => host.pod(other.id)).toThrow('there is no pod');
    expect(existsSync(join(directory, 'sessions', `${other.id}.jsonl`))).toBe(false);
    expect(existsSync(join(directory, 'trash'))).toBe(true);
  });

  it('opens a file of another program in place, and rejects a copy', async () => {
    const { host, cwd } = await hostFixture(() => textAnswer('hello again'));
    const file = join(cwd, 'pi.jsonl');
    const lines = [
      { type: 'session', version: 3, id: 'pi-session', timestamp: '2026-01-01T00:00:00.000Z', cwd },
      {
        type: 'message',
        id: '00000001',
        parentId: null,
        timestamp: '2026-01-01T00:00:01.000Z',
        message: { role: 'user', content: 'written by pi', timestamp: 1 },
      },
    ];
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const pod = await host.openFile(file);
    expect(await texts(pod)).toEqual(['written by pi']);
    await prompted(pod, 'go on');
    expect(await texts(pod)).toEqual(['written by pi', 'go on', 'hello again']);
    expect(readFileSync(file, 'utf8')).toContain('hello again');
    const copy = join(cwd, 'copy.jsonl');
    writeFileSync(copy, readFileSync(file));
    await expect(host.openFile(copy)).rejects.toThrow('is a copy of the session');
    writeFileSync(join(cwd, 'other.txt'), 'no session');
    await expect(host.openFile(join(cwd, 'other.txt'))).rejects.toThrow('is not a session file');
  });

  it('shows the approvals of a child in its parent, where they can be decided', async () => {
    const { host, cwd } = await hostFixture([needsApproval(), textAnswer('child done')]);
    const parent = await host.create({ cwd });
    const child = await host.spawn(parent.id, { cwd });
    const listener = new Listener(parent);
    await listener.joined();
    await child.handle(promptCommand('work'), { by: 'parent', door: 'process' });
    const { approval } = await listener.waitForType('approval-request');
    expect(approval.podId).toBe(child.id);
    const childListener = new Listener(child);
    await parent.handle({ type: 'decide', approvalId: approval.approvalId, decision: 'approve' }, ADA);
    expect(await listener.waitForType('approval-response')).toMatchObject({ status: 'approved', by: 'ada' });
    await childListener.waitFor((event) => event.type === 'run-end');
    expect((await texts(child)).at(-1)).toBe('child done');
    await expect(
      child.handle({ type: 'decide', approvalId: approval.approvalId, decision: 'deny' }, BOB),
    ).rejects.toThrow('already approved by ada through test');
  });

  it('publishes an approval request of a client', async () => {
    const { host, cwd } = await hostFixture([]);
    const pod = await host.create({ cwd });
    const { approvalId = '' } = await pod.handle({ type: 'ask', tool: 'Bash', arguments: '{}' }, ADA);
    expect((await host.approvals.pending()).map(({ approval }) => approval.approvalId)).toEqual([approvalId]);
    expect((await pod.snapshot()).state).toBe('idle');
    await pod.handle({ type: 'decide', approvalId, decision: 'deny', comment: 'no' }, BOB);
    expect(await host.approvals.pending()).toEqual([]);
  });
});

describe('parallel calls that end out of order', () => {
  it('are recorded in call order', async () => {
    const gates = new Map<string, () => void>();
    const input = shape.fields({ name: shape.text() }, {});
    const wait: Tool = defineTool({
      name: 'wait',
      description: 'Waits.',
      input,
      parallel: true,
      access: () => [],
      title: ({ name }) => name,
      run: async ({ name }) => {
        await new Promise<void>((resolve) => gates.set(name, resolve));
        return textOutput(name, `${name} is done`);
      },
    });
    const both: SimAnswer = {
      parts: ['a', 'b'].map((name) => ({ toolCall: { name: 'wait', arguments: { name } } })),
    };
    const { host, cwd, reopen } = await hostFixture([both, textAnswer('both')], { tools: [wait] });
    const pod = await host.create({ cwd });
    const listener = new Listener(pod);
    await listener.joined();
    await pod.handle(promptCommand('go'), ADA);
    await listener.waitFor((event) => event.type === 'tool-start' && event.call.title === 'b');
    gates.get('b')?.();
    await listener.waitForType('tool-end');
    gates.get('a')?.();
    await listener.waitForType('run-end');
    const expected = ['go', '(tool-call)', '(tool-call)', 'a is done', 'b is done', 'both'];
    expect(await texts(pod)).toEqual(expected);
    await host.shutdown();
    expect(await texts((await reopen()).pod(pod.id))).toEqual(expected);
  });
});

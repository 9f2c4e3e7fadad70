import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Script } from '../../../src/sim/index.ts';
import { call, isType, textAnswer, waitForEvent } from '../daemon.ts';
import { start } from '../polypod.ts';
import { mcpFixture } from './fixture.ts';

const TOUCH = call('bash', { command: 'touch made' });

describe.each([
  ['the daemon', true],
  ['its own process', false],
])('polypod mcp serve with the pods of %s', (_, hasDaemon) => {
  const open = async (script: Script, config?: string) => {
    const fixture = await mcpFixture(script);
    if (config !== undefined) fixture.configure(config);
    if (hasDaemon) await fixture.serve();
    return fixture;
  };

  it('starts a session, waits for it, lists it and reads its conversation', async () => {
    const fixture = await open([call('ls', { path: '.' }), textAnswer('It is empty.'), textAnswer('Again.')]);
    const { call: tool } = await fixture.host();
    const { session, queued } = await tool('prompt', { text: 'What is here?', name: 'look' });
    expect(queued).toBe(false);
    expect(await tool('wait', { session })).toMatchObject({
      session,
      state: 'idle',
      reason: 'idle',
      outcome: 'finished',
      answer: 'It is empty.',
      approvals: [],
    });
    expect(await tool('list_sessions', { search: 'look' })).toMatchObject({
      sessions: [{ session, name: 'look', state: 'idle', cwd: fixture.project, pending_approvals: 0 }],
      total: 1,
    });
    expect(await tool('list_sessions', { state: 'running' })).toEqual({ sessions: [], total: 0 });
    const read = await tool('read_session', { session: 'look' });
    expect(read).toMatchObject({
      items: [
        { index: 0, type: 'user', text: 'What is here?' },
        { index: 1, type: 'tool_call', tool: 'ls', completed: true },
        { index: 2, type: 'tool_result', is_error: false },
        { index: 3, type: 'assistant', text: 'It is empty.' },
      ],
      next: 4,
      total: 4,
      has_more: false,
    });
    await tool('prompt', { session, text: 'Once more' });
    await tool('wait', { session });
    expect(await tool('read_session', { session, after: read.next })).toMatchObject({
      items: [{ text: 'Once more' }, { text: 'Again.' }],
      next: 6,
    });
    expect(await tool('read_session', { session, after: 0, limit: 2 })).toMatchObject({
      items: [{ index: 0 }, { index: 1 }],
      next: 2,
      has_more: true,
    });
    expect(await tool('read_session', { session, limit: 1 })).toMatchObject({ items: [{ text: 'Again.' }] });
  });

  it('returns from a wait when a call needs approval, and approves or denies it', async () => {
    const fixture = await open([TOUCH, TOUCH, textAnswer('Done.')]);
    const { call: tool, refused } = await fixture.host(['--allow-approvals']);
    const { session } = await tool('prompt', { text: 'Go' });
    const waited = await tool('wait', { session });
    expect(waited).toMatchObject({ reason: 'approval', approvals: [{ tool: 'bash' }] });
    const { approvals } = await tool('list_approvals');
    expect(approvals).toMatchObject([{ session, tool: 'bash', cwd: fixture.project }]);
    expect(JSON.parse(approvals[0].arguments)).toEqual({ command: 'touch made' });
    const [{ approval }] = approvals;
    expect(await tool('deny_call', { approval, comment: 'Not now.' })).toMatchObject({ decision: 'deny' });
    const again = await tool('wait', { session });
    expect(again).toMatchObject({ reason: 'approval' });
    expect(existsSync(join(fixture.project, 'made'))).toBe(false);
    await tool('approve_call', { approval: again.approvals[0].approval });
    expect(await tool('wait', { session })).toMatchObject({ reason: 'idle', answer: 'Done.' });
    expect(existsSync(join(fixture.project, 'made'))).toBe(true);
    expect(await refused('approve_call', { approval })).toContain('it may already be decided');
    const { stdout } = await fixture.polypod('audit', '--json');
    for (const event of ['request.accepted', 'approval.denied', 'approval.approved'])
      expect(stdout.split('\n').filter((line) => line.includes(event) && line.includes('"mcp"'))).not.toEqual(
        [],
      );
  });

  it('cancels a run that waits for approval', async () => {
    const fixture = await open([TOUCH]);
    const { call: tool } = await fixture.host();
    const { session } = await tool('prompt', { text: 'Go' });
    await tool('wait', { session });
    await tool('cancel', { session });
    expect(await tool('wait', { session })).toMatchObject({ reason: 'idle', outcome: 'cancelled' });
    expect(await tool('list_approvals')).toEqual({ approvals: [], total: 0 });
  });

  it('reports progress, stops waiting when the client cancels, and times out while the run continues', async () => {
    const script = [call('bash', { command: 'sleep 600' })];
    const fixture = await open(script, 'permissions: { mode: full-access }');
    const { call: tool } = await fixture.host();
    const { session } = await tool('prompt', { text: 'Go' });
    const stop = new AbortController();
    const progress: string[] = [];
    const waiting = tool(
      'wait',
      { session, timeout_seconds: 600 },
      {
        signal: stop.signal,
        onprogress: ({ message }) => {
          progress.push(message ?? '');
          stop.abort();
        },
      },
    );
    await expect(waiting).rejects.toThrow();
    expect(progress).not.toEqual([]);
    expect(await tool('wait', { session, timeout_seconds: 1 })).toMatchObject({
      state: 'running',
      reason: 'timeout',
    });
    await tool('cancel', { session });
    expect(await tool('wait', { session })).toMatchObject({ outcome: 'cancelled' });
  });

  it('shares a run with other clients', async () => {
    const fixture = await open([TOUCH, textAnswer('Done.')]);
    const { call: tool } = await fixture.host();
    const { session } = await tool('prompt', { text: 'Go', name: 'joined' });
    await tool('wait', { session });
    const attached = start(['attach', '--plain', 'joined'], fixture.env);
    await attached.waitForOutput('touch made');
    expect((await fixture.polypod('ls')).stdout).toContain('joined');
    await tool('cancel', { session });
    attached.child.stdin.end();
    expect((await attached.finished).code).toBe(0);
  });
});

describe('polypod mcp serve', () => {
  it('uses a session that another process has open', async () => {
    const fixture = await mcpFixture([TOUCH, textAnswer('Done.')]);
    const one = await fixture.host(['--no-daemon', '--allow-approvals']);
    const other = await fixture.host(['--no-daemon']);
    const { session } = await one.call('prompt', { text: 'Go' });
    const { approvals } = await one.call('wait', { session });
    expect(await other.call('wait', { session })).toMatchObject({ reason: 'approval' });
    expect(await other.call('read_session', { session })).toMatchObject({
      items: [{ text: 'Go' }, { tool: 'bash' }],
    });
    await one.call('approve_call', { approval: approvals[0].approval });
    expect(await other.call('wait', { session })).toMatchObject({ answer: 'Done.' });
  });

  it('reports a killed daemon with the next step, and continues with the next one', async () => {
    const fixture = await mcpFixture([TOUCH, textAnswer('Done.')]);
    const daemon = await fixture.serve();
    const { call: tool, refused } = await fixture.host();
    const { session } = await tool('prompt', { text: 'Go' });
    await tool('wait', { session });
    daemon.child.kill('SIGKILL');
    await daemon.finished;
    expect(await refused('wait', { session })).toContain('polypod serve');
    expect(await refused('prompt', { text: 'Go' })).toContain('polypod serve');
    await fixture.serve();
    expect(await tool('wait', { session })).toMatchObject({ session, reason: 'approval' });
  });

  it('ends a wait with an error when the daemon is killed', async () => {
    const fixture = await mcpFixture([call('bash', { command: 'sleep 600' })]);
    fixture.configure('permissions: { mode: full-access }');
    const daemon = await fixture.serve();
    const { call: tool, refused } = await fixture.host();
    const { session } = await tool('prompt', { text: 'Go' });
    await waitForEvent(await fixture.pod(session), isType('tool-start'));
    const waiting = refused('wait', { session });
    await expect
      .poll(async () => (await fixture.link()).call('status', {}))
      .toMatchObject({ state: 'ready' });
    daemon.child.kill('SIGKILL');
    expect(await waiting).toMatch(/daemon/);
  });

  it('speaks the revision without a handshake as well', async () => {
    const fixture = await mcpFixture([textAnswer('Hi.')]);
    const { call: tool, client } = await fixture.host([], { revision: '2026-07-28' });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('prompt');
    const { session } = await tool('prompt', { text: 'Hello' });
    expect(await tool('wait', { session })).toMatchObject({ answer: 'Hi.' });
  });

  it('offers transcripts as resources', async () => {
    const fixture = await mcpFixture([textAnswer('Hi.')]);
    const { call: tool, client } = await fixture.host();
    const { session } = await tool('prompt', { text: 'Hello' });
    await tool('wait', { session });
    const uri = `polypod://sessions/${session}`;
    expect((await client.listResources()).resources).toMatchObject([{ uri }]);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
    const { contents } = await client.readResource({ uri });
    expect(JSON.stringify(contents)).toContain('Hello');
    await expect(client.readResource({ uri: 'polypod://sessions/nothing' })).rejects.toThrow('list_sessions');
  });
});

import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectBalanced } from '../contract/fixture.ts';
import { agentCommand, attack, hostileDaemon } from './fixture.ts';

const daemon = hostileDaemon({ hostile: { command: agentCommand() } });
const FINISHED = { status: 'finished' };

describe('a call', () => {
  test('is asked about again if the agent uses its id for other arguments', async () => {
    const session = await daemon.session();
    await session.prompt(
      attack(async ({ ask, bash, say }) => {
        const first = await ask(bash('c1', 'touch one'));
        const second = await ask(bash('c1', 'touch two'));
        await say(`${first} ${second}`);
      }),
    );
    const [first] = await session.approvals(1);
    await session.decide(first?.approvalId ?? '', 'approve');
    const [second] = await session.approvals(1);
    expect(second?.arguments).toContain('touch two');
    await session.decide(second?.approvalId ?? '', 'deny');
    expect((await session.ended()).outcome).toEqual(FINISHED);
    expect(session.answer()).toBe('yes no');
    expectBalanced(session.events);
  });

  test('with the id of an ended call of the same turn is another call', async () => {
    const session = await daemon.session();
    await session.prompt(
      attack(async ({ ask, bash, end, update }) => {
        await ask(bash('c1', 'touch one'));
        await end('c1');
        await ask(bash('c1', 'touch two'));
        await end('c1');
        // Without a question.
        await update({ sessionUpdate: 'tool_call', ...bash('c1', 'pwd'), status: 'completed' });
      }),
    );
    const [first] = await session.approvals(1);
    await session.decide(first?.approvalId ?? '', 'approve');
    const [second] = await session.approvals(1);
    await session.decide(second?.approvalId ?? '', 'approve');
    expect((await session.ended()).outcome).toEqual(FINISHED);
    const started = session.events.flatMap((event) =>
      event.type === 'tool-start' ? [event.call.title] : [],
    );
    expect(started).toEqual(['touch one', 'touch two', 'pwd']);
    expectBalanced(session.events);
  });

  test('with the id of a call of an earlier turn is asked about again', async () => {
    const session = await daemon.session();
    const code = attack(async ({ ask, bash, end, say }) => {
      await say(await ask(bash('c1', 'touch one')));
      await end('c1');
    });
    for (const decision of ['approve', 'deny'] as const) {
      await session.prompt(code);
      const [approval] = await session.approvals(1);
      await session.decide(approval?.approvalId ?? '', decision);
      expect((await session.ended()).outcome).toEqual(FINISHED);
      expect(session.answer()).toBe(decision === 'approve' ? 'yes' : 'no');
    }
  });

  test('that ends before it is reported has no effect on the order of events', async () => {
    const session = await daemon.session();
    const { outcome } = await session.run(
      attack(async ({ end, update, bash }) => {
        await end('unknown');
        await update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed' });
        await update({ sessionUpdate: 'tool_call', ...bash('c1', 'pwd'), status: 'pending' });
        await update({ sessionUpdate: 'tool_call', toolCallId: { id: 1 }, status: 'in_progress' });
        await update({
          sessionUpdate: 'tool_call',
          toolCallId: '__proto__',
          title: 'x',
          status: 'completed',
        });
        await update({ sessionUpdate: 'tool_call', toolCallId: 'c'.repeat(100_000), status: 'completed' });
        await update({ sessionUpdate: '__proto__' });
        return { stopReason: '__proto__' };
      }),
    );
    expect(outcome).toEqual(FINISHED);
    const ends = session.events.filter(({ type }) => type === 'status');
    for (const end of ends) if ('stopReason' in end) expect(typeof end.stopReason).toBe('string');
    expectBalanced(session.events);
  });

  test('is cancelled if the turn ends while it waits for approval', async () => {
    const session = await daemon.session();
    await session.prompt(
      attack(async ({ ask, bash, say }) => {
        void ask(bash('c1', 'touch one'));
        await say('done');
      }),
    );
    expect((await session.ended()).outcome).toEqual(FINISHED);
    expect((await session.next('approval-response')).status).toBe('cancelled');
    expectBalanced(session.events);
  });

  test('of a turn that has ended is not reported, and its question is not asked', async () => {
    const session = await daemon.session();
    await session.run(
      attack(({ sessionId, sendLate, requestLate, bash }) => {
        const content = { type: 'text', text: 'late' };
        const updates = [
          { sessionUpdate: 'agent_message_chunk', content },
          { sessionUpdate: 'plan', entries: [{ content: 'late', status: 'pending' }] },
          { sessionUpdate: 'tool_call', ...bash('c1', 'pwd'), status: 'completed' },
        ];
        for (const update of updates) sendLate({ method: 'session/update', params: { sessionId, update } });
        const toolCall = bash('c2', 'touch late');
        Object.assign(globalThis, { late: requestLate('session/request_permission', { toolCall }) });
      }),
    );
    await session.run(
      attack(async ({ say }) => {
        const { late } = globalThis as unknown as { late: Promise<object> };
        await say(JSON.stringify(await late));
      }),
    );
    expect(JSON.parse(session.answer())).toMatchObject({ result: { outcome: { outcome: 'cancelled' } } });
    const types = session.events.map(({ type }) => type);
    for (const type of ['approval-request', 'todos', 'tool-start'] as const)
      expect(types).not.toContain(type);
  });

  test('is shown without control characters, whatever its name and title are', async () => {
    const session = await daemon.session();
    await session.prompt(
      attack(async ({ ask }) => {
        const evil = `\u001b[2J\u001b]0;owned\u0007\r\n\u202eevil`;
        await ask({ toolCallId: 'c1', name: evil, title: evil.repeat(10_000), kind: 'other', rawInput: {} });
      }),
    );
    const [approval] = await session.approvals(1);
    expect(`${approval?.tool}${approval?.title}`).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
    expect(approval?.title.length).toBeLessThan(200);
    await session.decide(approval?.approvalId ?? '', 'deny');
    await session.ended();
  });

  test('with paths that no file system has is asked about', async () => {
    const session = await daemon.session();
    await session.prompt(
      attack(async ({ ask, say }) => {
        const locations = [{ path: 'a\0b' }, { path: '/'.repeat(20_000) }, { path: 7 }];
        const content = [{ type: 'diff', path: 'x\0y', newText: 'text' }];
        await say(await ask({ toolCallId: 'c1', title: 'edit', kind: 'edit', locations, content }));
      }),
    );
    const [approval] = await Promise.race([session.approvals(1), session.next('tool-end').then(() => [])]);
    if (approval !== undefined) await session.decide(approval.approvalId, 'deny');
    expect((await session.ended()).outcome).toEqual(FINISHED);
    expect(session.answer()).toBe('no');
  });
});

describe('a permission request', () => {
  test('with the id of an open one is refused', async () => {
    const session = await daemon.session();
    await session.prompt(
      attack(async ({ ask, bash, send, sessionId, say }) => {
        const first = ask(bash('c1', 'touch one'), { nested: [1] });
        await send({
          id: { nested: [1] },
          method: 'session/request_permission',
          params: { sessionId, toolCall: bash('c2', 'touch two'), options: [] },
        });
        await say(await first);
      }),
    );
    expect((await session.ended()).outcome).toEqual(FINISHED);
    expect(session.answer()).toBe('the id is in use');
  });

  test('about another session is refused', async () => {
    const session = await daemon.session();
    await session.run(
      attack(async ({ request, bash, say, update, send }) => {
        const params = { sessionId: 'another', toolCall: bash('c1', 'touch one'), options: [] };
        const { error } = await request('session/request_permission', params);
        await send({ method: 'session/update', params: { ...params, update: { sessionUpdate: 'plan' } } });
        await update({});
        await say(error?.message ?? 'asked');
      }),
    );
    expect(session.answer()).toContain('not the id of the open session');
  });

  test('is denied while 100 others wait', async () => {
    const session = await daemon.session();
    await session.prompt(
      attack(async ({ ask, bash, say }) => {
        const asked = Array.from({ length: 150 }, (_, index) => ask(bash(`c${index}`, `touch ${index}`)));
        await Promise.race(asked);
        await Promise.all(asked.slice(100));
        await say('all');
      }),
    );
    expect((await session.ended()).outcome).toEqual(FINISHED);
    const count = (type: string) => session.events.filter((event) => event.type === type).length;
    expect(count('approval-request')).toBeLessThanOrEqual(100);
    expect(count('tool-end')).toBe(150);
    expectBalanced(session.events);
  });

  test('that was answered "always" makes a rule that applies to the next call', async () => {
    const session = await daemon.session();
    await session.prompt(
      attack(async ({ ask, bash, end, say }) => {
        await say(await ask(bash('c1', 'touch always')));
        await end('c1');
        await say(await ask(bash('c2', 'touch always')));
        await end('c2');
        await say(await ask(bash('c3', 'rm always')));
      }),
    );
    const [approval] = await session.approvals(1);
    const approvalId = approval?.approvalId ?? '';
    await session.handle({ type: 'decide', approvalId, decision: 'approve', remember: 'session' });
    const other = await session.next('approval-request', ({ approval: next }) => next.title === 'rm always');
    await session.decide(other.approval.approvalId, 'deny');
    await session.ended();
    expect(session.answer()).toBe('yesyesno');
  });
});

describe('files and commands of the client', () => {
  const denied = async (code: string, approvals: number) => {
    const session = await daemon.session();
    await session.prompt(code);
    for (let count = 0; count < approvals; count += 1) {
      const [approval] = await session.approvals(1);
      await session.decide(approval?.approvalId ?? '', count === 0 ? 'approve' : 'deny');
    }
    expect((await session.ended()).outcome).toEqual(FINISHED);
    return session;
  };

  test('are judged again if they are not those of the approved call', async () => {
    const outside = join(daemon.home, 'outside');
    const session = await denied(
      attack(async ({ ask, request, say }, path) => {
        const content = [{ type: 'diff', path: `${path}-a`, newText: 'text' }];
        await ask({ toolCallId: 'c1', title: 'edit', kind: 'edit', content });
        const granted = await request('fs/write_text_file', { path: `${path}-a`, content: 'text' });
        const other = await request('fs/write_text_file', { path: `${path}-b`, content: 'text' });
        await say(`${granted.error === undefined} ${other.error === undefined}`);
      }, outside),
      2,
    );
    expect(session.answer()).toBe('true false');
    expect([existsSync(`${outside}-a`), existsSync(`${outside}-b`)]).toEqual([true, false]);
  });

  test('are not granted by a read, nor in the next turn, nor between turns', async () => {
    const outside = join(daemon.home, 'later');
    const session = await denied(
      attack(async ({ ask, request, requestLate }, path) => {
        const content = [{ type: 'diff', path, newText: 'text' }];
        await ask({ toolCallId: 'c1', title: 'edit', kind: 'edit', content });
        const { result } = await request('terminal/create', { command: `echo text > ${path}-command` });
        await request('terminal/wait_for_exit', { terminalId: result.terminalId });
        const late = [
          requestLate('fs/write_text_file', { path, content: 'late' }),
          requestLate('fs/write_text_file', { path: 'inside', content: 'late' }),
          requestLate('terminal/create', { command: 'touch inside' }),
        ];
        Object.assign(globalThis, { late });
      }, outside),
      2,
    );
    expect(existsSync(`${outside}-command`)).toBe(false);
    await session.prompt(
      attack(async ({ request, say }, path) => {
        const { late } = globalThis as unknown as { late: ReturnType<typeof request>[] };
        const answers = (await Promise.all(late)).map(({ error }) => error?.message);
        const again = await request('fs/write_text_file', { path, content: 'again' });
        await say(JSON.stringify([...answers, again.error === undefined]));
      }, outside),
    );
    const [approval] = await session.approvals(1);
    await session.decide(approval?.approvalId ?? '', 'deny');
    await session.ended();
    const refusals = Array.from({ length: 3 }, () => 'no turn is active');
    expect(JSON.parse(session.answer())).toEqual([...refusals, false]);
    expect([existsSync(outside), existsSync(join(daemon.project, 'inside'))]).toEqual([false, false]);
  });

  test('are not those behind a link that replaced an approved file', async () => {
    const secret = join(daemon.home, 'secret');
    const path = join(daemon.home, 'swapped');
    writeFileSync(secret, 'secret');
    const session = await daemon.session();
    await session.prompt(
      attack(
        async ({ ask, request, say }, { path: file, secret: target }) => {
          const { symlinkSync: link } = process.getBuiltinModule('node:fs');
          await ask({
            toolCallId: 'c1',
            title: 'edit',
            kind: 'edit',
            content: [{ type: 'diff', path: file, newText: 'text' }],
          });
          link(target, file);
          const { error } = await request('fs/write_text_file', { path: file, content: 'overwritten' });
          await say(String(error === undefined));
        },
        { path, secret },
      ),
    );
    const [approval] = await session.approvals(1);
    await session.decide(approval?.approvalId ?? '', 'approve');
    const [again] = await Promise.race([session.approvals(1), session.next('run-end').then(() => [])]);
    if (again !== undefined) await session.decide(again.approvalId, 'deny');
    await session.ended();
    expect(readFileSync(secret, 'utf8')).toBe('secret');
  });

  test('are not our own files, keys or those of the system', async () => {
    mkdirSync(join(daemon.home, '.ssh'), { recursive: true });
    writeFileSync(join(daemon.home, '.ssh/id_ed25519'), 'private');
    symlinkSync('/etc/shadow', join(daemon.project, 'notes.txt'));
    const session = await daemon.session();
    await session.handle({ type: 'configure', set: { mode: 'read-only' } });
    const paths = [
      join(daemon.home, '.config/polypod/config.yaml'),
      join(daemon.dataDirectory, 'catalogue'),
      join(daemon.home, '.ssh/id_ed25519'),
      '/etc/shadow',
      'notes.txt',
      '/proc/self/environ',
    ];
    await session.prompt(
      attack(async ({ request, say }, all) => {
        const answers = [];
        for (const path of all) answers.push((await request('fs/read_text_file', { path })).error?.message);
        answers.push((await request('fs/write_text_file', { path: 'inside', content: '' })).error?.message);
        await say(JSON.stringify(answers));
      }, paths),
    );
    const decided = new Set<string>();
    const deny = async (): Promise<void> => {
      for (;;) {
        const pending = (await session.approvals(1)).filter(({ approvalId }) => !decided.has(approvalId));
        for (const { approvalId } of pending) {
          decided.add(approvalId);
          await session.decide(approvalId, 'deny');
        }
        if (pending.length === 0) return;
      }
    };
    await Promise.race([deny(), session.next('run-end')]);
    expect((await session.ended()).outcome).toEqual(FINISHED);
    const answers = JSON.parse(session.answer()) as unknown[];
    expect(answers).toHaveLength(paths.length + 1);
    expect(answers).not.toContain(null);
  });

  test('are not pipes and devices, which would block', async () => {
    execFileSync('mkfifo', [join(daemon.project, 'pipe')]);
    const session = await daemon.session();
    await session.run(
      attack(async ({ request, say }) => {
        const reads = Array.from({ length: 8 }, () => request('fs/read_text_file', { path: 'pipe' }));
        const errors = (await Promise.all(reads)).map(({ error }) => error?.message ?? 'read');
        await say([...new Set(errors)].join());
      }),
    );
    expect(session.answer()).toContain('is not a regular file');
  });

  test('run in the directory that the agent names', async () => {
    mkdirSync(join(daemon.project, 'sub'));
    const session = await daemon.session();
    await session.run(
      attack(async ({ request, say }) => {
        const { result } = await request('terminal/create', { command: 'pwd', cwd: 'sub' });
        await request('terminal/wait_for_exit', result);
        await say((await request('terminal/output', result)).result.output);
      }),
    );
    expect(session.answer().trim()).toBe(join(daemon.project, 'sub'));
  });
});

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { controlSocket, dataPathsFrom } from '../../../src/setup/index.ts';
import { isRunning, Session } from '../contract/fixture.ts';
import { agentCommand, attack, hostileDaemon, type HostileDaemon } from './fixture.ts';

const KEY = 'secret-0123456789-of-the-agent';
const daemon = hostileDaemon({
  hostile: { command: agentCommand(), env: { AGENT_API_KEY: KEY } },
  forgetful: { command: agentCommand('refuse', 'session/resume') },
  refusing: { command: agentCommand('refuse', 'session/new'), env: { AGENT_API_KEY: KEY } },
  forking: { command: agentCommand(), env: { FORKED_SESSION: 'session-1' } },
  silent: { command: agentCommand('silent', 'initialize') },
});

const FINISHED = { status: 'finished' };
/** Reports the agent's session, and whether the prompt contains the earlier conversation. */
const who = attack((agent, _, prompt) =>
  agent.say(`${agent.sessionId} ${prompt.slice(0, -1).some(({ text }) => text.includes('heliotrope'))}`),
);
const remember = attack(({ say }) => say('heliotrope'));

async function forkOf({ id }: Session): Promise<Session> {
  const fork = new Session(daemon, String((await daemon.link.call('fork', { pod: id })).id));
  await fork.open();
  return fork;
}

async function killDaemon(host: HostileDaemon, ...sessions: readonly Session[]): Promise<void> {
  await host.stop('SIGKILL');
  await host.serve();
  for (const session of sessions) await session.open();
}

const running = attack(async ({ update, bash, say }) => {
  const { spawn } = process.getBuiltinModule('node:child_process');
  const child = spawn('sleep', ['1000'], { detached: true });
  await say(`${process.pid} ${child.pid}`);
  await update({ sessionUpdate: 'tool_call', ...bash('c1', 'sleep 1000'), status: 'in_progress' });
  const content = [{ type: 'content', content: { type: 'text', text: 'running' } }];
  await update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'in_progress', content });
  await new Promise(() => {});
});

describe('after the daemon was killed', () => {
  test('nothing of the agent is left, and its running call is interrupted', async () => {
    const session = await daemon.session();
    await session.prompt(running);
    await session.next('tool-update');
    const pids = session.answer().split(' ').map(Number);
    expect(pids.map(isRunning)).toEqual([true, true]);
    await killDaemon(daemon, session);
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
    const { results } = await session.next('turn-end');
    expect(results).toMatchObject([{ callId: 'c1', isError: true }]);
    await session.next('run-end', ({ outcome }) => outcome.status === 'interrupted');
    expect((await session.run(who)).outcome).toEqual(FINISHED);
    expect(session.answer()).toBe('session-1 false');
  });

  test('an approval is for the call that was asked about, not for another with its id', async () => {
    const session = await daemon.session();
    await session.prompt(attack(({ ask, bash }) => ask(bash('c1', 'touch one'))));
    const [before] = await session.approvals(1);
    await killDaemon(daemon, session);
    const [kept] = await session.approvals(1);
    expect(kept?.approvalId).toBe(before?.approvalId);
    await session.decide(kept?.approvalId ?? '', 'approve');
    // The agent is asked to continue with a prompt that is not code: it fails.
    await session.next('run-end', ({ outcome }) => outcome.status === 'failed');
    await session.prompt(
      attack(async ({ ask, bash, say }) => {
        const other = await ask(bash('c1', 'touch two'));
        const same = await ask(bash('c2', 'touch one'));
        await say(`${other} ${same}`);
      }),
    );
    const [other] = await session.approvals(1);
    expect(other?.arguments).toContain('touch two');
    await session.decide(other?.approvalId ?? '', 'deny');
    expect((await session.ended()).outcome).toEqual(FINISHED);
    expect(session.answer()).toBe('no yes');
  });
});

describe('a session of the agent', () => {
  test('is resumed by the next process', async () => {
    const session = await daemon.session();
    await session.run(remember);
    await session.run(attack(() => process.exit(0)));
    await session.run(who);
    expect(session.answer()).toBe('session-1 false');
  });

  test('that the agent no longer has is replaced by one with the conversation', async () => {
    const session = await daemon.session('forgetful');
    await session.run(remember);
    await session.run(attack(() => process.exit(0)));
    await session.run(who);
    expect(session.answer()).toBe('session-1 true');
  });

  test('is forked, also while the parent runs', async () => {
    const parent = await daemon.session();
    await parent.run(remember);
    await parent.prompt(attack(({ ask, bash }) => ask(bash('c1', 'touch one'))));
    await parent.approvals(1);
    const fork = await forkOf(parent);
    await fork.run(who);
    expect(fork.answer()).toBe('session-2 false');
    await parent.handle({ type: 'cancel' });
    await parent.ended();
    await parent.run(who);
    expect(parent.answer()).toBe('session-1 false');
  });

  test('is not used by two pods, even if the agent forks it as itself', async () => {
    const parent = await daemon.session('forking');
    await parent.run(remember);
    const fork = await forkOf(parent);
    await fork.run(who);
    expect(fork.answer()).toBe('session-1 true');
  });

  test('cannot be chosen by a client, and the back end cannot change', async () => {
    const session = await daemon.session();
    await session.run(remember);
    const configure = (set: object) =>
      session.handle({ type: 'configure', set } as Parameters<Session['handle']>[0]);
    await configure({ agentSession: { id: 'stolen', podId: session.id } }).catch(() => {});
    await expect(configure({ backend: 'silent' })).rejects.toThrow(/back end/);
    const [entry] = session.events.flatMap((event) => ('entryId' in event ? [event.entryId] : []));
    await expect(session.handle({ type: 'branch', entryId: String(entry) })).rejects.toThrow(/earlier point/);
    await session.run(attack(() => process.exit(0)));
    await session.run(who);
    expect(session.answer()).toBe('session-1 false');
    const link = daemon.link.call('new', {
      cwd: daemon.project,
      backend: 'hostile',
      agentSession: { id: 'stolen', podId: session.id },
    });
    const opened = await link.catch(() => undefined);
    if (opened === undefined) return;
    const other = new Session(daemon, String(opened.id));
    await other.open();
    await other.run(who);
    expect(other.answer()).toBe('session-1 false');
  });
});

test('a key of the agent is in no event, log or error', async () => {
  const refused = await daemon.session('refusing');
  const { outcome } = await refused.run(remember);
  expect(JSON.stringify(outcome)).toContain('my key is [redacted]');
  const session = await daemon.session();
  const failed = await session.run(
    attack(() => {
      throw new Error(`my key is ${process.env.AGENT_API_KEY}`);
    }),
  );
  expect(JSON.stringify(failed.outcome)).toContain('my key is [redacted]');
  const ended = await session.run(
    attack(async ({ say }) => {
      await say('I end.');
      process.stderr.write(`my key is ${process.env.AGENT_API_KEY}\n`, () => process.exit(1));
      await new Promise(() => {});
    }),
  );
  expect(JSON.stringify(ended.outcome)).toContain('my key is [redacted]');
  expect(daemon.written() + daemon.output).not.toContain(KEY);
});

test('the agent and its children cannot connect to our sockets', async () => {
  const session = await daemon.session();
  const socket = controlSocket(dataPathsFrom(daemon.env));
  expect(existsSync(socket)).toBe(true);
  await session.run(
    attack(async ({ say }, path) => {
      const { connect } = process.getBuiltinModule('node:net');
      const { execFile } = process.getBuiltinModule('node:child_process');
      const request = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ls', params: {} })}\n`;
      const script = `const s=require('net').connect(${JSON.stringify(path)},()=>s.write(${JSON.stringify(request)}));s.on('error',()=>{}).on('close',()=>process.exit()).pipe(process.stdout)`;
      const own = await new Promise<string>((resolve) => {
        let answer = '';
        const client = connect(path, () => client.write(request));
        client.on('data', (data) => (answer += data));
        client.on('error', () => {}).on('close', () => resolve(answer));
      });
      const childs = await new Promise<string>((resolve) => {
        execFile('setsid', [process.execPath, '-e', script], { env: {} }, (_, stdout) => resolve(stdout));
      });
      await say(JSON.stringify([own, childs]));
    }, socket),
  );
  const answers = JSON.parse(session.answer()) as string[];
  expect(answers).toHaveLength(2);
  for (const answer of answers) expect(answer).not.toContain('"result"');
});

test('the daemon stops although an agent does not start', async () => {
  const session = await daemon.session('silent');
  await session.prompt(remember);
  await expect.poll(() => existsSync(join(daemon.dataDirectory, 'commands'))).toBe(true);
  await session.next('input');
  await daemon.stop('SIGTERM');
  await daemon.serve();
}, 40_000);

import { textContent } from '../../../src/llm/index.ts';
import type { Caller, Host, Pod, PodCommand, Receipt } from '../../../src/pod/index.ts';
import { EventRecorder } from './event-recorder.ts';
import type { Note, PodName } from './ledger.ts';
import { logAfter, idleSnapshot } from './pod-reader.ts';
import { type Gates, recordEffect } from './test-agents.ts';

export const ADA: Caller = { by: 'ada', door: 'test' };

export const promptCommand = (text: string) => ({ type: 'prompt', content: textContent(text) }) as const;

/** One client's session with a pod. */
interface PodSession {
  readonly pod: Pod;
  readonly recorder: EventRecorder;
  /** Sends a command with a key. Records it before it is sent and when it is accepted. */
  readonly send: (command: PodCommand) => Promise<Receipt>;
  /** The same, until the run that it starts is over. */
  readonly run: (text: string) => Promise<void>;
}

/** What a client does with a host, from start to end. */
export type Scenario = (host: Host, cwd: string, gates: Gates, note: Note) => Promise<void>;

/** Requests a pod that may already exist, and sends no command. */
export const createScenario: Scenario = async (host, cwd, _, note) => {
  await host.create({ cwd });
  const main = await begin(host, cwd, note);
  await main.recorder.stop();
  await host.shutdown();
};

/** An answer so long that its deltas exceed the numbers that the session file reserves. */
export const longAnswerScenario: Scenario = async (host, cwd, _, note) => {
  const main = await begin(host, cwd, note);
  await main.run('talk for hours');
  await main.recorder.stop();
  await host.shutdown();
};

/**
 * The life of a pod that includes everything that a crash can lose. The next step depends only on received events, never on time.
 */
export const fullScenario: Scenario = async (host, cwd, gates, note) => {
  const main = await begin(host, cwd, note);
  await settings(main);
  await main.run('say much');
  await tools(main, gates);
  await approvals(main, gates);
  await shell(main);
  await stops(main, gates);
  await closing(main);
  await compaction(main);
  await branch(main);
  const fork = await forking(host, main, note);
  await leftOpen(main);
  await Promise.all([main.recorder.stop(), fork.recorder.stop()]);
  await host.shutdown();
};

async function begin(host: Host, cwd: string, note: Note): Promise<PodSession> {
  note({ type: 'wanted', pod: 'main' });
  const pod = await host.create({ cwd, key: 'main', settings: { autoCompaction: false } });
  note({ type: 'given', pod: 'main', id: pod.id });
  return openSession(pod, 'main', note);
}

function openSession(pod: Pod, name: PodName, note: Note): PodSession {
  const recorder = new EventRecorder(pod, name, note);
  let count = 0;
  const send = async (command: PodCommand): Promise<Receipt> => {
    const key = `${name}-${(count += 1)}`;
    note({ type: 'sent', pod: name, key, command });
    const receipt = await pod.handle(command, { ...ADA, key });
    note({ type: 'accepted', key, receipt });
    return receipt;
  };
  const run = async (text: string): Promise<void> => {
    const { runId } = await send(promptCommand(text));
    await recorder.waitFor('run-end', (event) => event.runId === runId);
  };
  return { pod, recorder, send, run };
}

async function settings({ send }: PodSession): Promise<void> {
  await send({ type: 'configure', set: { name: 'one', model: { provider: 'sim', modelId: 'other' } } });
  await send({ type: 'configure', set: { rules: [{ tool: 'read', action: 'deny' }], thinking: 'low' } });
  await send({ type: 'set-todos', items: [{ content: 'all of it', status: 'pending' }] });
}

/** Three calls that end in another order, with messages of people in between. */
async function tools({ send, recorder }: PodSession, gates: Gates): Promise<void> {
  await send(promptCommand('do three things'));
  await recorder.waitFor('tool-end', ({ callId }) => callId === 'toolu_third');
  await send({ type: 'steer', content: textContent('steer a bit') });
  await send({ type: 'follow-up', content: textContent('and then this') });
  const { queueId } = await send({ ...promptCommand('when you are free'), whenBusy: 'queue' });
  gates.open('first');
  const { seq } = await recorder.waitFor('input', (event) => event.queueId === queueId);
  await recorder.waitFor('run-end', (event) => event.seq > seq);
}

async function approvals({ send, recorder }: PodSession, gates: Gates): Promise<void> {
  const decide = async (text: string, tool: string, decision: 'approve' | 'deny'): Promise<void> => {
    const { runId } = await send(promptCommand(text));
    const asked = await recorder.waitFor('approval-request', ({ approval }) => approval.callId === tool);
    await send({ type: 'decide', approvalId: asked.approval.approvalId, decision, comment: decision });
    // The next call of the turn ends after the end of this one was published.
    await recorder.waitFor('tool-end', ({ callId }) => callId === tool);
    gates.open('beside');
    await recorder.waitFor('run-end', (event) => event.runId === runId);
  };
  await decide('run it', 'toolu_approved', 'approve');
  await decide('run the other', 'toolu_denied', 'deny');
}

async function shell({ send, recorder }: PodSession): Promise<void> {
  const { shellId } = await send({ type: 'shell', command: `${recordEffect('shell')} && echo done` });
  await recorder.waitFor('shell-end', (event) => event.shellId === shellId);
}

async function stops({ send, recorder }: PodSession, gates: Gates): Promise<void> {
  const cancelled = await send(promptCommand('never end'));
  await recorder.waitFor('tool-start', ({ call }) => call.callId === 'toolu_cancelled');
  await send({ type: 'cancel' });
  await recorder.waitFor('run-end', ({ runId }) => runId === cancelled.runId);

  const paused = await send(promptCommand('be paused'));
  await recorder.waitFor('tool-start', ({ call }) => call.callId === 'toolu_paused');
  await send({ type: 'pause' });
  gates.open('paused');
  await recorder.waitFor('run-end', ({ runId }) => runId === paused.runId);
  const resumed = await send({ type: 'resume' });
  await recorder.waitFor('run-end', ({ runId }) => runId === resumed.runId);
}

/** Unloads the pod and loads it again. */
async function closing({ send }: PodSession): Promise<void> {
  await send({ type: 'close' });
  await send({ type: 'set-todos', items: [{ content: 'all of it', status: 'completed' }] });
}

async function compaction({ send, recorder, run }: PodSession): Promise<void> {
  await send({ type: 'compact', instructions: 'keep the names' });
  const { result } = await recorder.waitFor('compaction-end');
  if (result.status !== 'compacted') throw new Error(`not compacted: ${result.status}`);
  await run('what was it');
}

/** Branches to the middle of a turn before the compaction, where its calls have no results. */
async function branch({ send, recorder, run }: PodSession): Promise<void> {
  const { entryId } = await recorder.waitFor('llm-end', ({ items }) =>
    items.some((item) => item.type === 'tool-call' && item.callId === 'toolu_first'),
  );
  if (entryId === undefined) throw new Error('an answer that has no entry');
  await send({ type: 'branch', entryId });
  await run('on the branch');
}

async function forking(host: Host, { pod }: PodSession, note: Note): Promise<PodSession> {
  note({ type: 'wanted', pod: 'fork' });
  const forked = await host.fork(pod.id, { name: 'two' });
  note({ type: 'given', pod: 'fork', id: forked.id });
  const fork = openSession(forked, 'fork', note);
  await fork.run('run in the fork');
  return fork;
}

/** The life ends with a pending approval and a queued message. */
async function leftOpen({ send, recorder }: PodSession): Promise<void> {
  await send(promptCommand('ask and wait'));
  await recorder.waitFor('approval-request', ({ approval }) => approval.callId === 'toolu_pending');
  await send({ type: 'steer', content: textContent('hurry up') });
  await send({ ...promptCommand('after the question'), whenBusy: 'queue' });
}

/** Opens pods again, receives all events, and waits until nothing more happens. */
export async function reopenPods(
  host: Host,
  ids: Readonly<Record<string, string>>,
  note: Note,
): Promise<void> {
  for (const [name, id] of Object.entries(ids)) {
    const pod = host.pod(id);
    const { seq } = await idleSnapshot(pod);
    const { events } = await logAfter(pod, 0, seq);
    note({ type: 'received', pod: name === 'fork' ? 'fork' : 'main', events });
  }
}

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SessionManager } from '@mariozechner/pi-coding-agent';
import { Host, type Pod } from '../../../src/pod/index.ts';
import { type SimAnswer, startSim } from '../../../src/sim/index.ts';
import { idleSnapshot } from '../crash/pod-reader.ts';
import { ADA, agentsOn, promptCommand } from '../fixture.ts';

/** A session file as a program left it. */
export interface RealSession {
  readonly name: string;
  readonly id: string;
  readonly cwd: string;
  readonly bytes: Buffer;
}

const calls = (...given: readonly (readonly [string, object])[]): SimAnswer => ({
  parts: [
    { thinking: 'Ich überlege … 考え中' },
    ...given.map(([name, args]) => ({ toolCall: { name, arguments: args } })),
  ],
});
const textAnswer = (text: string): SimAnswer => ({ parts: [{ text }] });

const SCRIPT: readonly SimAnswer[] = [
  calls(['read', { path: 'a.txt' }], ['read', { path: 'b.txt' }], ['ls', { path: '.' }]),
  textAnswer('Zwei Dateien: ä und 日本語.'),
  calls(['bash', { command: 'node -e 1' }]),
  textAnswer('It ran. 🎉'),
  textAnswer('A summary of all that was said, 概要.'),
  calls(['read', { path: 'a.txt' }]),
  textAnswer('Read again.'),
  calls(['ls', { path: '.' }]),
  textAnswer('On another branch.'),
  calls(['read', { path: 'b.txt' }], ['bash', { command: 'node -e 2' }]),
];

/** Sessions with tool calls, an approval, a compaction and a branch: finished, waiting for an approval, and written by pi. */
export async function realSessions(): Promise<readonly RealSession[]> {
  const home = mkdtempSync(join(tmpdir(), 'polypod-repair-'));
  const sim = await startSim({ script: SCRIPT });
  const host = await Host.open({
    directory: join(home, 'data'),
    agents: agentsOn(sim, { contextWindow: 200 }),
  });
  try {
    writeFileSync(join(home, 'a.txt'), 'Grüße, 世界\n');
    writeFileSync(join(home, 'b.txt'), 'b\n');
    const pod = await host.create({ cwd: home, settings: { autoCompaction: false, name: 'réparé' } });
    const file = host.fileOf(pod.id);
    await pod.handle(promptCommand('Was steht da? 何?'), ADA);
    await idleSnapshot(pod);
    await pod.handle(promptCommand('Run it'), { ...ADA, key: 'once' });
    await approveAll(pod);
    const { entryId } = (await host.history.messages(pod.id))[1] ?? {};
    await pod.handle({ type: 'compact' }, ADA);
    await idleSnapshot(pod);
    await pod.handle(promptCommand('Again'), ADA);
    await idleSnapshot(pod);
    await pod.handle({ type: 'branch', entryId: entryId ?? 'root' }, ADA);
    await pod.handle(promptCommand('Another way'), ADA);
    await idleSnapshot(pod);
    const finished = readFileSync(file);
    await pod.handle(promptCommand('Now this'), ADA);
    await idleSnapshot(pod);
    const waiting = readFileSync(file);
    return [
      { name: 'a finished session', id: pod.id, cwd: home, bytes: finished },
      { name: 'a session that waits for an approval', id: pod.id, cwd: home, bytes: waiting },
      { name: 'a session of pi', ...ofPi(home) },
    ];
  } finally {
    await host.shutdown();
    await sim.close();
    rmSync(home, { recursive: true, force: true });
  }
}

async function approveAll(pod: Pod): Promise<void> {
  for (
    let { approvals } = await idleSnapshot(pod);
    approvals.length > 0;
    { approvals } = await idleSnapshot(pod)
  )
    for (const { approvalId } of approvals)
      await pod.handle({ type: 'decide', approvalId, decision: 'approve' }, ADA);
}

function ofPi(directory: string): Omit<RealSession, 'name'> {
  const pi = SessionManager.create(directory, directory);
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost };
  const answer = (content: object[], stopReason: string): void =>
    void pi.appendMessage({
      role: 'assistant',
      api: 'openai-responses',
      provider: 'openai',
      model: 'gpt-x',
      usage,
      stopReason,
      timestamp: 2,
      content,
    } as unknown as Parameters<SessionManager['appendMessage']>[0]);
  const result = (toolCallId: string, text: string): void =>
    void pi.appendMessage({
      role: 'toolResult',
      toolCallId,
      toolName: 'bash',
      content: [{ type: 'text', text }],
      isError: false,
      timestamp: 3,
    });
  const call = (id: string) => ({ type: 'toolCall', id, name: 'bash', arguments: { command: 'ls' } });
  pi.appendModelChange('openai', 'gpt-x');
  const first = pi.appendMessage({ role: 'user', content: 'Grüße, 世界', timestamp: 1 });
  answer([{ type: 'text', text: 'ok' }, call('call_1|fc_1'), call('call_2|fc_2')], 'toolUse');
  result('call_1|fc_1', 'one');
  result('call_2|fc_2', 'two');
  answer([{ type: 'text', text: 'done' }], 'stop');
  pi.appendMessage({ role: 'user', content: 'more', timestamp: 4 });
  answer([call('call_3|fc_3')], 'toolUse');
  result('call_3|fc_3', 'three');
  answer([{ type: 'text', text: 'done again' }], 'stop');
  pi.branch(first);
  answer([call('call_4|fc_4')], 'toolUse');
  result('call_4|fc_4', 'four');
  answer([{ type: 'text', text: 'on a branch' }], 'stop');
  return { id: pi.getSessionId(), cwd: directory, bytes: readFileSync(pi.getSessionFile() ?? '') };
}

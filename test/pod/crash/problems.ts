import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../../../src/base/index.ts';
import type { Host, Pod, PodEvent, Snapshot } from '../../../src/pod/index.ts';
import type { Files } from '../../../src/store/index.ts';
import { type Known, type Ledger, ledgersOf, type Sent } from './ledger.ts';
import { logAfter, idleSnapshot } from './pod-reader.ts';
import { ADA, promptCommand } from './scenarios.ts';
import { SessionText } from './session-text.ts';
import { snapshotDifferences } from './snapshot-differences.ts';

/** A reopened host after a crash. */
export interface Reopened {
  readonly host: Host;
  readonly files: Files;
  readonly directory: string;
  /** All effects, before the crash and since. */
  readonly effectsFile: string;
  /** Whether published events may be lost: then a watcher must receive a snapshot instead. */
  readonly isLossy: boolean;
}

/** Returns all problems of what a crash left, compared with what the client knows. Then continues as a client would. */
export async function problemsAfter(
  reopened: Reopened,
  knowledge: readonly Known[],
): Promise<readonly string[]> {
  const problems: string[] = [];
  problems.push(...(await problemsOfAsking(reopened, knowledge)));
  for (const ledger of ledgersOf(knowledge)) {
    const report = (problem: string): void => void problems.push(`${ledger.name}: ${problem}`);
    try {
      await new Inquiry(reopened, ledger, report).make();
    } catch (thrown) {
      report(`it fails with ${messageOf(thrown)}`);
    }
  }
  const carriedOut = readFileSync(reopened.effectsFile, 'utf8').trimEnd().split('\n');
  const twice = carriedOut.filter((name, at) => carriedOut.indexOf(name) < at);
  if (twice.length > 0) problems.push(`carried out twice: ${twice.join()}`);
  return problems;
}

/** A repeated request with the same key returns the same pod, or a working one. */
async function problemsOfAsking(
  { host, effectsFile }: Reopened,
  knowledge: readonly Known[],
): Promise<readonly string[]> {
  const given = ledgersOf(knowledge).find(({ name }) => name === 'main');
  try {
    const { id } = await host.create({ cwd: dirname(effectsFile), key: 'main' });
    if (given !== undefined && given.id !== id) return [`${id} is given in place of ${given.id}`];
    await idleSnapshot(host.pod(id));
    return [];
  } catch (thrown) {
    return [`the pod that is asked for again fails with ${messageOf(thrown)}`];
  }
}

/** Checks one pod for all that was acknowledged to its client. */
class Inquiry {
  readonly #reopened: Reopened;
  readonly #ledger: Ledger;
  readonly #report: (problem: string) => void;
  readonly #pod: Pod;

  constructor(reopened: Reopened, ledger: Ledger, report: (problem: string) => void) {
    this.#reopened = reopened;
    this.#ledger = ledger;
    this.#report = report;
    this.#pod = reopened.host.pod(ledger.id);
  }

  async make(): Promise<void> {
    const before = await this.#pod.snapshot();
    const log = await this.#log(before.seq);
    if (log !== undefined) await this.#checkResuming(log);
    this.#checkState(await idleSnapshot(this.#pod));
    await this.#decidePending();
    for (const sent of this.#ledger.sent) await this.#sendAgain(sent);
    await this.#decidePending();
    await this.#continuePods();
    const after = await idleSnapshot(this.#pod);
    this.#checkConversation(after);
    this.#checkFile();
    const fullLog = await this.#log(after.seq);
    if (fullLog === undefined) return;
    this.#checkLog(fullLog);
    if (log !== undefined && JSON.stringify(fullLog.slice(0, log.length)) !== JSON.stringify(log))
      this.#report('the log has changed while it was open');
    if (this.#ledger.name === 'main') snapshotDifferences(fullLog, after).forEach(this.#report);
  }

  /** All events; undefined if some are lost and that is reported. */
  async #log(until: number): Promise<readonly PodEvent[] | undefined> {
    const { events, gap } = await logAfter(this.#pod, 0, until);
    if (gap === undefined) return events;
    if (!this.#reopened.isLossy) this.#report('the events are no longer there');
    const last = this.#ledger.received.at(-1)?.seq ?? 0;
    if (gap.seq < last) this.#report(`a snapshot of ${gap.seq} although ${last} was received`);
    return undefined;
  }

  /** A watcher that resumes after any number receives exactly what follows. */
  async #checkResuming(log: readonly PodEvent[]): Promise<void> {
    const { received } = this.#ledger;
    const until = log.at(-1)?.seq ?? 0;
    this.#checkLog(log);
    for (const part of [0, 0.3, 0.7, 1]) {
      const after = received[Math.floor(part * (received.length - 1))]?.seq ?? 0;
      const { events, gap } = await logAfter(this.#pod, after, until);
      if (gap !== undefined) {
        if (!this.#reopened.isLossy) this.#report(`nobody can come back after ${after}`);
        continue;
      }
      const expected = log.filter(({ seq }) => seq > after);
      if (JSON.stringify(events) !== JSON.stringify(expected))
        this.#report(`what follows ${after} is not what the log has`);
    }
  }

  #checkLog(log: readonly PodEvent[]): void {
    const bySeq = new Map(log.map((event) => [event.seq, JSON.stringify(event)]));
    if (log.some(({ seq }, at) => at > 0 && seq <= (log[at - 1]?.seq ?? 0)))
      this.#report('numbers do not grow');
    const last = log.at(-1)?.seq ?? 0;
    for (const event of this.#ledger.received) {
      const now = bySeq.get(event.seq);
      if (now === JSON.stringify(event)) continue;
      if (now !== undefined) this.#report(`the number ${event.seq} was ${event.type}, and is now ${now}`);
      else if (!this.#reopened.isLossy) this.#report(`the event ${event.seq} ${event.type} is gone`);
      if (event.seq > last) this.#report(`numbers go on at ${last} although ${event.seq} was received`);
    }
    const ends = new Set(log.flatMap((event) => (event.type === 'run-end' ? [event.runId] : [])));
    const current = log.findLast((event) => event.type === 'run-start')?.runId;
    for (const event of log)
      if (event.type === 'run-start' && event.runId !== current && !ends.has(event.runId))
        this.#report(`the run ${event.runId} never ended`);
  }

  /** The settings of the last accepted command of each kind, unless a command in flight changed them. */
  #checkState({ settings, todos }: Snapshot): void {
    const { sent } = this.#ledger;
    const wanted = new Map<string, { readonly last: unknown; readonly open: unknown[] }>();
    const lists: unknown[] = [[]];
    for (const { command, receipt } of sent) {
      if (command.type === 'set-todos') lists.push(command.items);
      // A branch restores the list of its entry, which is one of the earlier ones.
      if (command.type === 'branch') wanted.get('todos')?.open.push(...lists);
      const values =
        command.type === 'configure'
          ? { ...command.set }
          : command.type === 'set-todos'
            ? { todos: command.items }
            : {};
      for (const [key, value] of Object.entries(values)) {
        if (receipt === undefined) wanted.get(key)?.open.push(value);
        else wanted.set(key, { last: value, open: [] });
      }
    }
    const found: Readonly<Record<string, unknown>> = { ...settings, todos };
    for (const [key, { last, open }] of wanted)
      if (![last, ...open].some((value) => JSON.stringify(value) === JSON.stringify(found[key])))
        this.#report(`${key} is ${JSON.stringify(found[key])} instead of ${JSON.stringify(last)}`);
  }

  /** Published approvals without a decision are still pending. They are decided now, and the run resumes. */
  async #decidePending(): Promise<void> {
    const { sent, received } = this.#ledger;
    const { approvals } = await this.#pod.snapshot();
    const asked = received.flatMap((event) =>
      event.type === 'approval-request' ? [event.approval.approvalId] : [],
    );
    const answered = new Set([
      ...received.flatMap((event) => (event.type === 'approval-response' ? [event.approvalId] : [])),
      ...sent.flatMap(({ command }) => (command.type === 'decide' ? [command.approvalId] : [])),
      ...this.#decided,
    ]);
    for (const approvalId of asked)
      if (!answered.has(approvalId) && !approvals.some((approval) => approval.approvalId === approvalId))
        this.#report(`the question ${approvalId} is no longer open`);
    for (const { approvalId, title } of approvals) {
      this.#decided.add(approvalId);
      await this.#pod.handle({ type: 'decide', approvalId, decision: 'approve' }, ADA);
      const { lastRun, state } = await idleSnapshot(this.#pod);
      if (state !== 'idle' || lastRun?.outcome.status !== 'finished')
        this.#report(
          `after the decision about ${title} the run is ${lastRun?.outcome.status}, the pod ${state}`,
        );
    }
  }

  readonly #decided = new Set<string>();

  /** The same key returns the same receipt without an effect. A command in flight takes effect now, or already has. */
  async #sendAgain({ key, command, receipt }: Sent): Promise<void> {
    const { seq } = await idleSnapshot(this.#pod);
    const again = await this.#pod
      .handle(command, { ...ADA, key })
      .catch((thrown: unknown) => messageOf(thrown));
    const { seq: then } = await idleSnapshot(this.#pod);
    if (receipt === undefined) return;
    if (JSON.stringify(again) !== JSON.stringify(receipt))
      this.#report(
        `${command.type} under ${key} was ${JSON.stringify(receipt)}, is now ${JSON.stringify(again)}`,
      );
    if (then !== seq) this.#report(`${command.type} under ${key} took effect again`);
  }

  async #continuePods(): Promise<void> {
    const { state } = await idleSnapshot(this.#pod);
    if (state === 'waiting') this.#report('it still waits although everything was decided');
    const { runId } = await this.#pod.handle(promptCommand(`note last-${this.#ledger.name}`), ADA);
    const { lastRun } = await idleSnapshot(this.#pod);
    if (lastRun?.runId !== runId || lastRun?.outcome.status !== 'finished')
      this.#report(`a new run ends ${lastRun?.outcome.status}`);
    const carriedOut = readFileSync(this.#reopened.effectsFile, 'utf8').split('\n');
    if (!carriedOut.includes(`last-${this.#ledger.name}`)) this.#report('a new call is not carried out');
  }

  #checkConversation({ items }: Snapshot): void {
    for (const call of items) {
      if (call.type !== 'tool-call') continue;
      const results = items.filter((item) => item.type === 'tool-result' && item.callId === call.callId);
      if (results.length !== 1) this.#report(`${call.callId} has ${results.length} results`);
    }
  }

  /** The file contains every accepted message exactly once. */
  #checkFile(): void {
    const { files, directory } = this.#reopened;
    const text = new SessionText(files.readText(join(directory, 'sessions', `${this.#ledger.id}.jsonl`)));
    text.problems.forEach(this.#report);
    for (const { command, receipt } of this.#ledger.sent) {
      if (
        command.type === 'shell' &&
        receipt !== undefined &&
        !text.has('shell-start', { shellId: receipt.shellId })
      )
        this.#report(`the shell command ${receipt.shellId} is gone`);
      if (
        command.type === 'decide' &&
        receipt !== undefined &&
        !text.has('approval-response', { approvalId: command.approvalId })
      )
        this.#report(`the decision about ${command.approvalId} is gone`);
      if (command.type !== 'prompt' && command.type !== 'steer' && command.type !== 'follow-up') continue;
      const [part] = command.content;
      const prompt = part?.type === 'text' ? part.text : '';
      const count = text.countUserMessages(prompt);
      if (count > 1 || (count === 0 && receipt !== undefined))
        this.#report(`“${prompt}” was recorded ${count} times`);
    }
  }
}

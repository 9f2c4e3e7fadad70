import { arrayOf, objectOf, stringOf } from '../../src/base/index.ts';
import type { PodEvent } from '../../src/pod/index.ts';
import type { DoorClient, LineSequence, WireName } from './clients/client.ts';
import { conversationOf, type Shown } from './conversation.ts';
import { expectedAcpLines } from './expected/acp.ts';
import { expectedHldLines } from './expected/hld.ts';
import { expectedPodLines } from './expected/pod.ts';
import { expectedRpcLines } from './expected/rpc.ts';
import type { JsonLine } from './lines.ts';
import { difference, type DoorLine } from './door-line.ts';
import { withinTime } from './within-time.ts';

/** Encodes the expected lines of a wire, for a client that joined after a number. */
export function expectedOn(
  wire: WireName,
  { own = NO_PROMPTS }: Pick<LineSequence, 'own'>,
  log: readonly PodEvent[],
): (after: number) => readonly DoorLine[] {
  if (wire === 'rpc' || wire === 'rpc stdio') return (after) => expectedRpcLines(log, after);
  const all =
    wire === 'hld'
      ? expectedHldLines(log)
      : wire === 'acp' || wire === 'acp stdio'
        ? expectedAcpLines(log, own)
        : expectedPodLines(log, wire === 'pod plain' ? 'plain' : 'extended');
  return (after) => all.filter(({ seq }) => seq > after);
}

const NO_PROMPTS: ReadonlySet<string> = new Set();

/** Compares all lines of a client with the log. Describes what is missing, duplicated, out of order or unexpected. */
export function findings(client: DoorClient, log: readonly PodEvent[]): readonly string[] {
  const found = client.sequences.flatMap((sequence, at) => {
    const expected = expectedOn(client.wire, sequence, log);
    const isComplete = client.isConnected && at === client.sequences.length - 1;
    const problem =
      sequenceProblem(sequence, expected, { isComplete, last: log.at(-1)?.seq ?? 0 }) ??
      questionProblem(sequence, log, isComplete);
    const snapshot = sequence.snapshot && snapshotProblem(sequence.snapshot, log, sequence.from.lowest);
    return [problem, snapshot].flatMap((text) =>
      text === undefined ? [] : [`${client.wire}, connection ${at + 1}: ${text}`],
    );
  });
  return [...client.problems, ...found];
}

/** How each protocol shows a conversation, if it differs from `history` of the Pod Protocol. */
const SHOWN: Partial<Readonly<Record<WireName, Shown>>> = {
  hld: { asEnded: true, broken: 'left and marked' },
  acp: { asEnded: true, broken: 'left' },
  'acp stdio': { asEnded: true, broken: 'left' },
  rpc: { asEnded: false, broken: 'all' },
  'rpc stdio': { asEnded: false, broken: 'all' },
};

/** Compares what doors return when nothing runs: the conversation, and whether all work has ended. */
export async function askedFindings(
  clients: readonly DoorClient[],
  log: readonly PodEvent[],
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const client of clients.filter(({ isConnected }) => isConnected)) {
    for (const work of (await client.unfinished?.()) ?? [])
      problems.push(`${client.wire} calls unfinished: ${work}`);
    for (const problem of (await client.further?.(log)) ?? []) problems.push(`${client.wire}: ${problem}`);
    const shown = await client.conversation?.();
    if (shown === undefined) continue;
    const at = conversationOf(log, SHOWN[client.wire] ?? { asEnded: false, broken: 'left' });
    if (JSON.stringify(shown) !== JSON.stringify(at))
      problems.push(
        `${client.wire} shows the conversation as ${JSON.stringify(shown)}, the log has ${JSON.stringify(at)}`,
      );
  }
  return problems;
}

/** Resolves when every connected client has received the end of the log; returns those that have not. */
export async function waitUntilReceived(
  clients: readonly DoorClient[],
  log: readonly PodEvent[],
): Promise<readonly string[]> {
  const late: string[] = [];
  for (const client of clients) {
    const sequence = client.sequences.at(-1);
    if (sequence === undefined || !client.isConnected) continue;
    const last = expectedOn(client.wire, sequence, log)(sequence.from.highest).at(-1)?.seq ?? 0;
    const hasAll = (): true | undefined =>
      !client.isConnected || (sequence.lines.at(-1)?.seq ?? 0) >= last ? true : undefined;
    await withinTime('the client has received all', hasAll, 20_000).catch(() =>
      late.push(`${client.wire} has not received the end of the log`),
    );
  }
  return late;
}

/** Without a cursor, only bounds of the start number are known: one number between them must match. */
function sequenceProblem(
  { from, lines: all }: LineSequence,
  expected: (after: number) => readonly DoorLine[],
  { isComplete, last }: { readonly isComplete: boolean; readonly last: number },
): string | undefined {
  // Events after the log was read are not in it.
  const received = all.filter(({ seq }) => seq <= last);
  let problem: string | undefined;
  // The first received line is a bound too.
  const first = Math.min(from.highest, Math.max(from.lowest, (received[0]?.seq ?? Infinity) - 1));
  for (let after = first; after >= from.lowest; after -= 1) {
    const found = difference(expected(after), received, { isComplete });
    if (found === undefined) return undefined;
    // The most likely number first.
    problem ??= found;
  }
  return `${problem} (it starts after ${from.lowest}${from.lowest === from.highest ? '' : ` to ${from.highest}`})`;
}

/**
 * A client without a start number receives, once and in order, every approval that was pending when it joined or that came later.
 * The time of its join is known only roughly, so an approval that was settled about then may be included or not.
 */
function questionProblem(
  { from, approvalRequests }: LineSequence,
  log: readonly PodEvent[],
  isComplete: boolean,
): string | undefined {
  if (approvalRequests === undefined || from.highest === Infinity) return undefined;
  const settled = new Map(
    log.flatMap((event) => (event.type === 'approval-response' ? [[event.approvalId, event.seq]] : [])),
  );
  const asks = log.flatMap((event) => (event.type === 'approval-request' ? [event.approval] : []));
  const settledAt = (id: string): number => settled.get(id) ?? Infinity;
  let at = 0;
  const missed: string[] = [];
  for (const { approvalId, title } of asks) {
    if (settledAt(approvalId) <= from.lowest) continue;
    if (approvalRequests[at]?.includes(title) === true) at += 1;
    else if (settledAt(approvalId) > from.highest && (isComplete || at < approvalRequests.length))
      missed.push(title);
  }
  if (missed.length === 0 && at === approvalRequests.length) return undefined;
  return `it was asked ${JSON.stringify(approvalRequests)}, the log has the questions ${JSON.stringify(asks.map(({ title }) => title))}`;
}

/** A snapshot is the sum of the log up to its number: the state, the pending approvals, the queue, the streaming blocks. */
function snapshotProblem(snapshot: JsonLine, log: readonly PodEvent[], seq: number): string | undefined {
  const sum = sumOf(log.filter((event) => event.seq <= seq));
  const approvals = arrayOf(snapshot.approvals).map((one) => stringOf(objectOf(one).approval_id));
  const queue = arrayOf(snapshot.queue).map((one) => stringOf(objectOf(one).queue_id));
  const blocks = arrayOf(snapshot.in_flight)
    .map(objectOf)
    .flatMap((block) => (block.open === true ? [stringOf(block.text)] : []));
  const given = JSON.stringify({ state: snapshot.state, approvals, queue, blocks });
  const wanted = JSON.stringify(sum);
  return given === wanted ? undefined : `the snapshot at ${seq} has ${given}, the log adds up to ${wanted}`;
}

function sumOf(log: readonly PodEvent[]): object {
  let state = 'idle';
  const approvals = new Set<string>();
  const queue = new Set<string>();
  const blocks = new Map<number, string>();
  for (const event of log) {
    if (event.type === 'state') state = event.state === 'waiting' ? 'paused' : event.state;
    if (event.type === 'approval-request') approvals.add(event.approval.approvalId);
    if (event.type === 'approval-response') approvals.delete(event.approvalId);
    if (event.type === 'queued') queue.add(event.queueId);
    if (event.type === 'unqueued') for (const id of event.queueIds) queue.delete(id);
    if (event.type === 'input' && event.queueId !== undefined) queue.delete(event.queueId);
    if (event.type === 'turn-start' || event.type === 'run-end') blocks.clear();
    if (event.type === 'block-start') blocks.set(event.index, '');
    if (event.type === 'block-delta') {
      const { delta, index } = event;
      blocks.set(index, (blocks.get(index) ?? '') + (delta.type === 'input-json' ? delta.json : delta.text));
    }
    if (event.type === 'block-stop' || event.type === 'block-abort') blocks.delete(event.index);
  }
  return { state, approvals: [...approvals], queue: [...queue], blocks: [...blocks.values()] };
}

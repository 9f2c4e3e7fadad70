import {
  APPROVAL_REQUEST,
  type Approval,
  type Host,
  type PendingApproval,
  type Row,
} from '../../pod/index.ts';

/** A question that waits for a person, and the session in which it is asked. */
export interface WaitingApproval extends Partial<Question> {
  readonly id: string;
  readonly session: string;
  /** What the session is called. */
  readonly name?: string;
  readonly cwd: string;
  readonly tool: string;
  /** The call in a line, which may be cut: what is decided are the arguments. */
  readonly title: string;
  readonly requestedAt: string;
  /** When it is answered by itself. */
  readonly deadline?: string;
}

/** What is decided, whole, and why it is asked. Unknown while another process has the session open: that one alone decides. */
export type Question = Pick<Approval, 'arguments' | 'reason'>;

/** All questions that wait, the oldest first. One that a session asks for a child of its own is listed at the child. */
export async function pendingApprovals(host: Host): Promise<readonly WaitingApproval[]> {
  const pending = await host.pendingApprovals();
  const waiting = new Map<string, WaitingApproval>();
  const children = pending.filter(({ row }) => row.spawned === true);
  for (const { row, approval } of [...children, ...pending]) {
    if (!waiting.has(approval.approvalId)) waiting.set(approval.approvalId, waitingIn(row, approval));
  }
  const questions = new Map<string, Question>();
  // One after the other: each is in memory only as long as it is looked at.
  for (const session of new Set([...waiting.values()].map((approval) => approval.session)))
    for (const [id, question] of await openQuestions(host, session)) questions.set(id, question);
  return [...waiting.values()]
    .map((approval) => ({ ...approval, ...questions.get(approval.id) }))
    .toSorted((one, other) => (one.requestedAt < other.requestedAt ? -1 : 1));
}

/** A question with the session in whose row it stands. */
export function waitingIn(
  { id: session, name, cwd }: Pick<Row, 'id' | 'name' | 'cwd'>,
  { approvalId: id, ...question }: PendingApproval,
): WaitingApproval {
  return { id, session, ...(name === undefined ? {} : { name }), cwd, ...question };
}

/** What was asked, also if it has its answer by now. */
export async function questionOf(
  host: Host,
  { id, session }: Pick<WaitingApproval, 'id' | 'session'>,
): Promise<Partial<Question>> {
  const open = (await openQuestions(host, session)).get(id);
  if (open !== undefined) return open;
  const tree = await host.tree(session).catch(() => undefined);
  const asked = [...(tree?.entries() ?? [])].flatMap((entry) => APPROVAL_REQUEST.in(entry) ?? []);
  const found = asked.find(({ approvalId }) => approvalId === id);
  return found === undefined ? {} : questionIn(found);
}

/** By the ids of the approvals. */
async function openQuestions(host: Host, session: string): Promise<ReadonlyMap<string, Question>> {
  try {
    const { approvals } = await host.pod(session).snapshot();
    return new Map(approvals.map((approval) => [approval.approvalId, questionIn(approval)]));
  } catch {
    // Another process has it open, or it is gone.
    return new Map();
  }
}

function questionIn({ arguments: json, reason }: Question): Question {
  return { arguments: json, reason };
}

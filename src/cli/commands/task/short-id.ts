import { isPartOfId, PolypodError } from '../../../base/index.ts';
import type { TasksClient } from '../../../client/index.ts';
import { shortIds } from '../../../setup/index.ts';

/** Most of a task's id is the id of its session; the rest identifies the task. Other servers have other ids. */
const OWN_PART = /^task_[0-9a-f-]{36}_([0-9a-f]+)$/;

/** The shortest unique form of each id. */
export function shortTaskIds(taskIds: readonly string[]): ReadonlyMap<string, string> {
  const short = shortIds([...new Set(taskIds.map(ownPart))]);
  return new Map(taskIds.map((id) => [id, short.get(ownPart(id)) ?? id]));
}

/** Finds a task by its id, or by the short form that a list shows. */
export async function findTask(client: TasksClient, word: string): Promise<string> {
  if (!/^[0-9a-f]{6,25}$/.test(word)) return word;
  // A key that may not list tasks works only with complete ids; an invalid one is reported by the next request.
  const listed = await client.list({ limit: 1000 }).catch(() => []);
  const found = listed.map(({ taskId }) => taskId).filter((id) => isPartOfId(ownPart(id), word));
  return onlyOne(found, word, 'tasks: use more characters of the id; polypod task list shows them');
}

/** Finds a pending approval by its id, or by the beginning or the end of it. */
export async function findApproval(client: TasksClient, word: string): Promise<string> {
  const pending = await client.approvals().catch(() => []);
  const found = pending.map(({ approvalId }) => approvalId).filter((id) => isPartOfId(id, word));
  return onlyOne(found, word, 'approvals: use more characters of the id');
}

/** The only id; the word as it is if there is none. */
function onlyOne(ids: readonly string[], word: string, problem: string): string {
  const [only = word, other] = ids;
  if (other === undefined) return only;
  throw new PolypodError('bad-request', `"${word}" matches ${ids.length} ${problem}`);
}

function ownPart(taskId: string): string {
  return OWN_PART.exec(taskId)?.[1] ?? taskId;
}

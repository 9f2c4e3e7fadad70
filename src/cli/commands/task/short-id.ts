import { PolypodError } from '../../../base/index.ts';
import type { TasksClient } from '../../../client/index.ts';
import { shortIds } from '../../../setup/index.ts';

/** Most of a task's id names its session: what follows tells it from others. Ids of other servers are their own. */
const OWN_PART = /^task_[0-9a-f-]{36}_([0-9a-f]+)$/;

/** By id: as much of it as a person needs to type. */
export function shortTaskIds(taskIds: readonly string[]): ReadonlyMap<string, string> {
  const short = shortIds([...new Set(taskIds.map(ownPart))]);
  return new Map(taskIds.map((id) => [id, short.get(ownPart(id)) ?? id]));
}

/** The id that is meant by a whole one, or by as much of it as a list shows. */
export async function findTask(client: TasksClient, word: string): Promise<string> {
  if (!/^[0-9a-f]{6,25}$/.test(word)) return word;
  // Of a key that may not list only whole ids are good; what is wrong with it is said next.
  const listed = await client.list({ limit: 1000 }).catch(() => []);
  const found = listed.map(({ taskId }) => taskId).filter((id) => ownPart(id).startsWith(word));
  const [only, other] = found;
  if (only === undefined) return word;
  if (other === undefined) return only;
  throw new PolypodError(
    'bad-request',
    `${found.length} tasks begin with "${word}": type more of it; polypod task list shows them`,
  );
}

function ownPart(taskId: string): string {
  return OWN_PART.exec(taskId)?.[1] ?? taskId;
}

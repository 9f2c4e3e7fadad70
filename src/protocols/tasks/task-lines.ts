import { arrayOf, isObject, type JsonObject } from '../../base/index.ts';
import type { TaskHistory } from './task-history.ts';
import type { StreamLine } from './wire.ts';

/**
 * Of a session's lines those of one task: that it waits, and all from the start of its run to its end, with which they end.
 * `after` is the number behind which the lines begin.
 */
export async function* taskLines(
  lines: AsyncIterable<StreamLine>,
  taskId: string,
  { queueId, runIds, runSeq, lastSeq }: TaskHistory,
  after: number,
): AsyncGenerator<StreamLine> {
  const runs = new Set(runIds);
  let waits = queueId;
  let isOpen = runSeq !== undefined && runSeq <= after;
  for await (const line of lines) {
    const data = isObject(line.data) ? line.data : NOTHING;
    const isOwn = data.task_id === taskId;
    if (line.event === 'queued' && isOwn && typeof data.queue_id === 'string') waits = data.queue_id;
    if (line.event === 'run_start' && isOwn && typeof data.run_id === 'string') {
      runs.add(data.run_id);
      isOpen = true;
    }
    const isGone = line.event === 'unqueued' && arrayOf(data.queue_ids).includes(waits);
    // What has no number is about the stream itself.
    if (isOpen || isOwn || isGone || line.seq === undefined || line.event === 'snapshot') yield line;
    if (isGone) return;
    if (line.event === 'snapshot') {
      if (lastSeq !== undefined && (line.seq ?? 0) >= lastSeq) return;
      isOpen = runs.has(String(data.run_id));
    }
    if (line.event !== 'run_end' || !runs.has(String(data.run_id))) continue;
    isOpen = false;
    // A pause ends the run, not the task.
    if (data.result !== 'paused' || line.seq === lastSeq) return;
  }
}

const NOTHING: JsonObject = {};

import { arrayOf, isObject, type JsonObject } from '../../../base/index.ts';
import type { LineBatch, PlacedLine } from './cursor.ts';
import { oncePer } from './once-per.ts';
import type { TaskHistory } from '../work/task-history.ts';
import type { StreamLine } from '../wire.ts';

/** Takes a session's lines in their order, and says which of them count and whether they were the last. */
export type LinePick = (batch: LineBatch) => { readonly batch: LineBatch; readonly isLast: boolean };

/**
 * Of a session's lines those of one task: that it waits, and all from the start of its run to its end, with which they end.
 * `after` is the number behind which the lines begin.
 */
export function taskLines(taskId: string, history: TaskHistory, after: number): LinePick {
  const task = new TaskLines(taskId, history, after);
  return (batch) => task.pick(batch);
}

class TaskLines {
  readonly #taskId: string;
  readonly #lastSeq: number | undefined;
  readonly #runs: Set<string>;
  #waits: string | undefined;
  #isOpen: boolean;
  /** Its run was cut off by a kill: the next status says whether it waits for a decision, and then goes on. */
  #isCutOff = false;
  #isOver = false;

  constructor(taskId: string, { queueId, runIds, runSeq, lastSeq }: TaskHistory, after: number) {
    this.#taskId = taskId;
    this.#lastSeq = lastSeq;
    this.#runs = new Set(runIds);
    this.#waits = queueId;
    this.#isOpen = runSeq !== undefined && runSeq <= after;
  }

  pick(batch: LineBatch): ReturnType<LinePick> {
    // Nearly always so while it runs: nothing is looked at for each client.
    if (this.#isOpen && !hasTurn(batch)) return { batch, isLast: false };
    const own: PlacedLine[] = [];
    for (const placedLine of batch) {
      if (this.#take(placedLine.line)) own.push(placedLine);
      if (this.#isOver) break;
    }
    return { batch: own.length === batch.length ? batch : own, isLast: this.#isOver };
  }

  /** Whether the line counts. */
  #take(line: StreamLine): boolean {
    const data = isObject(line.data) ? line.data : NOTHING;
    const isOwn = data.task_id === this.#taskId;
    if (line.event === 'queued' && isOwn && typeof data.queue_id === 'string') this.#waits = data.queue_id;
    if (line.event === 'run_start' && isOwn && typeof data.run_id === 'string') {
      this.#runs.add(data.run_id);
      this.#isOpen = true;
    }
    const isGone = line.event === 'unqueued' && arrayOf(data.queue_ids).includes(this.#waits);
    if (this.#isCutOff && line.event === 'status') {
      this.#isCutOff = false;
      this.#isOpen = data.detail === 'waiting';
      this.#isOver = !this.#isOpen;
      return this.#isOpen;
    }
    // What has no number is about the stream itself.
    const counts = this.#isOpen || isOwn || isGone || line.seq === undefined || line.event === 'snapshot';
    if (isGone) this.#isOver = true;
    else if (line.event === 'snapshot') this.#restart(line, data);
    else if (line.event === 'run_end' && this.#runs.has(String(data.run_id))) this.#endRun(line, data);
    return counts;
  }

  #restart({ seq = 0 }: StreamLine, data: JsonObject): void {
    if (this.#lastSeq !== undefined && seq >= this.#lastSeq) this.#isOver = true;
    else this.#isOpen = this.#runs.has(String(data.run_id));
  }

  #endRun({ seq }: StreamLine, data: JsonObject): void {
    this.#isOpen = false;
    const isLast = seq === this.#lastSeq;
    this.#isCutOff = data.result === 'interrupted' && !isLast;
    // A pause ends the run, not the task.
    this.#isOver = isLast || (data.result !== 'paused' && !this.#isCutOff);
  }
}

/** Whether a task may begin or end in it. */
const hasTurn = oncePer((batch: LineBatch): boolean => batch.some(({ line }) => TURNS.has(line.event)));

const TURNS: ReadonlySet<string> = new Set(['queued', 'unqueued', 'run_start', 'run_end', 'snapshot']);
const NOTHING: JsonObject = {};

import { numberOf, PolypodError, stringOf } from '../../../base/index.ts';
import {
  type AgentRecord,
  DEFAULT_AGENT,
  isKept,
  readAgent,
  readAgents,
  readClientKey,
} from '../../../daemon/index.ts';
import type { DataPaths } from '../../../setup/index.ts';
import { relativeTime } from '../../output/relative-time.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { table } from '../../output/table.ts';
import { askWhether, type ProbeResult } from './probe.ts';

interface Seen {
  readonly record: AgentRecord;
  /** Undefined if nothing answers: the agent was killed. */
  readonly answer: ProbeResult | undefined;
}

/** `polypod agent list`: the agents of a data directory. */
export async function list(
  dataPaths: DataPaths,
  json: boolean,
  { stdout, stderr }: CommandContext,
): Promise<ExitCode> {
  const seen = await Promise.all(readAgents(dataPaths).map((record) => look(record, dataPaths)));
  if (json) stdout.write(`${JSON.stringify(seen.map(described), null, 2)}\n`);
  else if (seen.length === 0)
    stderr.write(`no agent is up on ${dataPaths.dataDirectory}; polypod agent start starts one\n`);
  else {
    const now = new Date();
    const cells = seen.map(({ record, answer }) => [
      record.name,
      stateOf(answer),
      String(record.pid),
      answer === undefined ? '' : relativeTime(record.startedAt, now),
      record.url,
    ]);
    stdout.write(
      table([['name', 'state', 'process', 'up', 'address'], ...cells], { columns: stdout.columns }),
    );
  }
  return EXIT.ok;
}

/** `polypod agent status`: whether an agent is running, and its state. */
export async function status(
  name: string,
  dataPaths: DataPaths,
  json: boolean,
  { stdout, stderr }: CommandContext,
): Promise<ExitCode> {
  const record = readAgent(dataPaths, name);
  const seen = record && (await look(record, dataPaths));
  const isUp = seen?.answer !== undefined;
  if (json) stdout.write(`${JSON.stringify(seen === undefined ? { up: false, name } : described(seen))}\n`);
  else if (seen === undefined || !isUp)
    stderr.write(
      `the agent ${name} is not up on ${dataPaths.dataDirectory}; ${isKept(dataPaths, name) ? 'the daemon restarts it: polypod serve' : `polypod agent start${name === DEFAULT_AGENT ? '' : ` ${name}`} starts it`}\n`,
    );
  else {
    const { running, pending, currentTask, version } = seen.answer?.body ?? {};
    const count = (value: unknown): string => String(numberOf(value) ?? 0);
    const rows = [
      ['agent', `${name}, ${stateOf(seen.answer)}, process ${seen.record.pid}`],
      ['address', seen.record.url],
      ...(version === undefined ? [] : [['version', stringOf(version)]]),
      ...(running === undefined ? [] : [['tasks', `${count(running)} running, ${count(pending)} waiting`]]),
      ...(currentTask === undefined ? [] : [['current', stringOf(currentTask)]]),
    ];
    stdout.write(rows.map(([heading = '', text = '']) => `${heading.padEnd(8)} ${text}\n`).join(''));
  }
  return isUp ? EXIT.ok : EXIT.broken;
}

/** The record of a started agent. Throws with the next step if there is none. */
export function agentRecord(name: string, dataPaths: DataPaths): AgentRecord {
  const record = readAgent(dataPaths, name);
  if (record !== undefined) return record;
  const others = readAgents(dataPaths).map((other) => other.name);
  const hint = others.length === 0 ? 'none is' : `there is ${others.join(', ')}`;
  throw new PolypodError('not-found', `no agent ${name} is up on ${dataPaths.dataDirectory}: ${hint}`);
}

async function look(record: AgentRecord, dataPaths: DataPaths): Promise<Seen> {
  const key = record.process === 'program' ? undefined : readClientKey(dataPaths);
  const answer = await askWhether(record, '/status', key).catch(() => undefined);
  return { record, answer };
}

function described({ record, answer }: Seen): object {
  const { version: _, ...rest } = record;
  return { up: answer !== undefined, ...rest, ...(answer?.status === 200 && { status: answer.body }) };
}

/** An agent that rejects the request is still running. */
function stateOf(answer: ProbeResult | undefined): string {
  if (answer === undefined) return 'gone';
  return answer.status === 200 ? stringOf(answer.body.status) : 'up';
}

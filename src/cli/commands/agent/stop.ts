import {
  type AgentRecord,
  daemonLink,
  forgetAgent,
  isKept,
  readAgent,
  readAgents,
  removeAgent,
} from '../../../daemon/index.ts';
import type { DataPaths } from '../../../setup/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { stopDaemon } from '../stop.ts';
import { agentRecord } from './inspect.ts';
import { stopProgram } from './program.ts';

/** `polypod agent stop`: stops an agent, and its process if it has its own. */
export async function stop(
  name: string,
  dataPaths: DataPaths,
  { json, quiet }: { readonly json: boolean; readonly quiet: boolean },
  { stdout, stderr }: CommandContext,
): Promise<ExitCode> {
  const isComingBack = readAgent(dataPaths, name) === undefined && isKept(dataPaths, name);
  const what = isComingBack
    ? await forget(name, dataPaths)
    : await end(agentRecord(name, dataPaths), dataPaths);
  if (json) stdout.write(`${JSON.stringify({ name, ended: what })}\n`);
  else if (!quiet) stderr.write(`polypod agent: ${name} ${SAY[what]}\n`);
  return EXIT.ok;
}

const SAY = {
  process: 'has stopped',
  door: 'is closed; the daemon keeps running, and polypod stop stops it',
  nothing: 'had already ended',
  kept: 'was not up, and the daemon no longer restarts it',
} as const;

/** Removes an agent that is not running, because its daemon is not running or could not open it. */
async function forget(name: string, dataPaths: DataPaths): Promise<keyof typeof SAY> {
  const link = await daemonLink(dataPaths);
  if (link === undefined) await forgetAgent(dataPaths, name);
  else await link.call('agent-stop', { name }).finally(() => link.close());
  return 'kept';
}

async function end(record: AgentRecord, dataPaths: DataPaths): Promise<keyof typeof SAY> {
  if (record.process === 'program') {
    await stopProgram(record, dataPaths);
    return 'process';
  }
  const link = await daemonLink(dataPaths);
  if (link === undefined) {
    // The agent was killed and left its record.
    await removeAgent(dataPaths, record.name);
    await forgetAgent(dataPaths, record.name);
    return 'nothing';
  }
  try {
    const others = readAgents(dataPaths).filter(
      ({ name, pid }) => name !== record.name && pid === record.pid,
    );
    if (record.process === 'own' && others.length === 0) {
      await stopDaemon(link, dataPaths);
      return 'process';
    }
    await link.call('agent-stop', { name: record.name });
    return 'door';
  } finally {
    link.close();
  }
}

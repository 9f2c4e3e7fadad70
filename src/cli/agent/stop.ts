import { type AgentRecord, daemonLink, type Places, readAgents, removeAgent } from '../../daemon/index.ts';
import { EXIT, type ExitCode, type Surroundings } from '../command.ts';
import { stopDaemon } from '../stop.ts';
import { recorded } from './look.ts';
import { stopProgram } from './program.ts';

/** `polypod agent stop`: with its process, if that is its own. */
export async function stop(
  name: string,
  places: Places,
  { json, quiet }: { readonly json: boolean; readonly quiet: boolean },
  { stdout, stderr }: Surroundings,
): Promise<ExitCode> {
  const record = recorded(name, places);
  const what = await end(record, places);
  if (json) stdout.write(`${JSON.stringify({ name, ended: what })}\n`);
  else if (!quiet) stderr.write(`polypod agent: ${name} ${SAY[what]}\n`);
  return EXIT.ok;
}

const SAY = {
  process: 'has stopped',
  door: 'is closed; its process goes on with its other work, and polypod stop ends that',
  nothing: 'was gone already',
} as const;

async function end(record: AgentRecord, places: Places): Promise<keyof typeof SAY> {
  if (record.process === 'program') {
    await stopProgram(record, places);
    return 'process';
  }
  const link = await daemonLink(places);
  if (link === undefined) {
    // It was killed, and left its trace behind.
    await removeAgent(places, record.name);
    return 'nothing';
  }
  try {
    const others = readAgents(places).filter(({ name, pid }) => name !== record.name && pid === record.pid);
    if (record.process === 'own' && others.length === 0) {
      await stopDaemon(link, places);
      return 'process';
    }
    await link.call('agent-stop', { name: record.name });
    return 'door';
  } finally {
    link.close();
  }
}

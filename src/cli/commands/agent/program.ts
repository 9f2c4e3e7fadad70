import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { explainStartFailure, PolypodError } from '../../../base/index.ts';
import { type AgentRecord, removeAgent, writeAgent } from '../../../daemon/index.ts';
import type { DataPaths } from '../../../setup/index.ts';
import { processInstanceId } from '../../../store/index.ts';
import type { CommandContext } from '../../command.ts';
import { ask } from './probe.ts';

export interface ProgramRequest {
  readonly name: string;
  readonly command: readonly string[];
  readonly url: string;
  readonly cwd: string;
}

/** Starts an agent that is a separate program, and waits until it answers over HTTP. */
export async function startProgram(
  { name, command: [program = '', ...args], url, cwd }: ProgramRequest,
  dataPaths: DataPaths,
  { env, signal }: CommandContext,
): Promise<AgentRecord> {
  if (await answers(url))
    throw new PolypodError(
      'conflict',
      `another process already answers at ${url}: stop it, or choose another address`,
    );
  const log = join(dataPaths.dataDirectory, 'logs', `agent-${name}.log`);
  mkdirSync(dirname(log), { recursive: true, mode: 0o700 });
  const output = openSync(log, 'a', 0o600);
  const child = spawn(program, args, {
    cwd,
    env: { ...env },
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  let end: string | undefined;
  child.on('error', (error) => {
    const { problem, step } = explainStartFailure({ program, cwd, env }, error);
    end = `${problem}: ${step}`;
  });
  child.on('exit', (code, by) => (end = `it ended with ${code ?? by}`));
  const { pid } = child;
  // Node.js reports the reason in a later event.
  if (pid === undefined) {
    await once(child, 'error');
    throw new PolypodError('bad-request', `the agent's program cannot be started: ${end}`);
  }
  for (let waited = 0; !(await answers(url)); waited += PAUSE_MS) {
    if (end !== undefined)
      throw new PolypodError('provider-failed', `${program} did not become ready: ${end}; see ${log}`);
    if (waited >= READY_MS || signal.aborted) {
      child.kill('SIGKILL');
      throw new PolypodError('unreachable', `${program} does not answer at ${url}; see ${log}`);
    }
    await sleep(PAUSE_MS);
  }
  child.unref();
  const record: AgentRecord = {
    version: 1,
    name,
    url,
    pid,
    startedAt: new Date().toISOString(),
    process: 'program',
    ...bornAt(pid),
  };
  await writeAgent(dataPaths, record);
  return record;
}

/** Stops the program and waits for its end. An unrelated process with the same pid is not stopped. */
export async function stopProgram({ name, pid, born }: AgentRecord, dataPaths: DataPaths): Promise<void> {
  if (born === undefined || processInstanceId(process.pid) === undefined) refuseUnknown(name, pid);
  const isUp = (): boolean => born !== undefined && processInstanceId(pid) === born;
  for (let waited = 0; isUp(); waited += PAUSE_MS) {
    if (waited === 0) process.kill(pid, 'SIGTERM');
    if (waited === GRACE_MS) process.kill(pid, 'SIGKILL');
    await sleep(PAUSE_MS);
  }
  await removeAgent(dataPaths, name);
}

/** Any HTTP answer counts, also a rejection. */
async function answers(url: string): Promise<boolean> {
  try {
    await ask({ url }, '/health', undefined);
    return true;
  } catch {
    return false;
  }
}

/** Omitted if the system does not report it: no /proc, and no `ps` program. */
function bornAt(pid: number): Pick<AgentRecord, 'born'> {
  const born = processInstanceId(pid);
  return born === undefined ? {} : { born };
}

/** Another process may have reused the pid, and must not be stopped. */
function refuseUnknown(name: string, pid: number): void {
  try {
    process.kill(pid, 0);
  } catch {
    // There is no such process.
    return;
  }
  throw new PolypodError(
    'provider-failed',
    `cannot tell whether process ${pid} is the agent ${name}, since the program ps was not found: install it, or end the process with kill ${pid} and repeat the command`,
  );
}

const PAUSE_MS = 100;
const READY_MS = 60_000;
const GRACE_MS = 10_000;

import type { Audit } from '../../audit/index.ts';
import { stringOf, userName } from '../../base/index.ts';
import {
  createKey,
  type Door,
  keyHash,
  type KeyRecord,
  keyState,
  readKeys,
  revokeKey,
  type tasksDoor,
} from '../../protocols/index.ts';
import type { DataPaths } from '../../setup/paths/index.ts';
import { type AgentRecord, DEFAULT_AGENT, doorName, NO_AUTH_WARNING, readClientKey } from './agent-files.ts';
import { keyEvent } from './key-event.ts';
import { changeKeys } from './key-file.ts';
import { type TasksAgentRequest, pathFrom, tasksListener, type TasksParts } from './tasks-listener.ts';
import { removeAgent, writeAgent, writeClientKey } from './write-agent.ts';

/**
 * The tasks door of one agent. While it is open, a record tells local clients its address. It creates a key for them, because
 * without any key no client could connect.
 */
export function agentDoor(
  base: typeof tasksDoor,
  request: TasksAgentRequest,
  parts: TasksParts & { readonly process: AgentRecord['process'] },
): Door {
  const { dataPaths } = parts;
  const name = request.stated.name ?? DEFAULT_AGENT;
  return {
    name: doorName(name),
    needs: [],
    open: async (context) => {
      const tasks = await tasksListener(request, parts);
      if (request.stated.no_auth === true)
        context.log.warn(NO_AUTH_WARNING, {
          agent: name,
        });
      else await ensureKey(dataPaths, userName(parts.env), context.audit);
      const opened = await base.open({ ...context, tasks, monitoring: parts.monitoring });
      try {
        writeAgent(dataPaths, {
          version: 1,
          name,
          url: nearUrl(stringOf(opened.status().url)),
          pid: process.pid,
          startedAt: new Date().toISOString(),
          process: parts.process,
          ...(request.stated.no_auth === true && { noAuth: true }),
          ...(request.stated.tls && { cert: pathFrom(request.from, request.stated.tls.cert, dataPaths) }),
          ...(request.stated.tls?.client_ca !== undefined && { clientCertificate: true }),
        });
      } catch (thrown) {
        await opened.close();
        throw thrown;
      }
      const note = (event: 'agent.started' | 'agent.stopped'): void =>
        context.audit?.({
          event,
          door: 'tasks',
          by: userName(parts.env),
          target: name,
          details: { url: stringOf(opened.status().url), noAuth: request.stated.no_auth === true },
        });
      note('agent.started');
      if (request.stated.no_auth !== true) parts.watchKeys();
      return {
        ...opened,
        close: async () => {
          note('agent.stopped');
          removeAgent(dataPaths, name);
          await opened.close();
        },
      };
    },
  };
}

/** Keeps a valid key, because clients may have read it already. */
async function ensureKey(dataPaths: DataPaths, owner: string, audit: Audit | undefined): Promise<void> {
  await changeKeys(dataPaths, (file) => {
    const known = readClientKey(dataPaths);
    if (known !== undefined && readKeys(file).some((record) => isGood(record, known))) return;
    const { key, record } = createKey(file, { owner, scopes: ['submit', 'read', 'approve'] });
    try {
      writeClientKey(dataPaths, key);
    } catch (thrown) {
      // The key was never stored, so no client has it.
      revokeKey(file, record.id);
      throw thrown;
    }
    audit?.(keyEvent('key.created', record, { by: owner, door: 'tasks' }));
  });
}

function isGood(record: KeyRecord, key: string): boolean {
  return keyState(record) === 'good' && record.hash === keyHash(key);
}

/** A wildcard address is not a valid destination. */
function nearUrl(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

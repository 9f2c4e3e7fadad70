import { PERMISSION_MODES } from '../../tools/index.ts';
import { isAbsolute } from 'node:path';
import { shape } from '../../base/index.ts';
import { type Method, readParams } from '../../control/index.ts';
import { type ThinkingLevel, THINKING_LEVELS } from '../../llm/index.ts';
import type { Host } from '../../pod/index.ts';
import { existingDirectory } from '../../setup/paths/index.ts';
import { findSession } from '../../setup/index.ts';
import type { Health } from '../observe/health.ts';
import { metricsOf } from '../observe/metrics.ts';
import { type NewSession, newSession } from '../sessions/new-session.ts';
import { pendingApprovals } from '../sessions/pending-approvals.ts';
import { removeSession } from '../sessions/remove-session.ts';
import { restoreSession } from '../sessions/restore-session.ts';
import type { ReloadResult, Setup } from '../setup.ts';
import { TASKS } from '../../setup/config/index.ts';
import type { TasksAgents } from '../tasks/tasks-agents.ts';
import { watchApprovals } from './watch-approvals.ts';

/** What the methods use. */
export interface ControlParts {
  readonly host: Host;
  readonly setup: Setup;
  readonly dataDirectory: string;
  readonly health: () => Promise<Health>;
  /** Describes how commands of agents are isolated and limited. */
  readonly commands: () => Promise<NonNullable<Health['commands']>>;
  readonly reload: () => Promise<ReloadResult>;
  /** Starts to stop the daemon, without waiting. */
  readonly stop: () => void;
  readonly agents: Pick<TasksAgents, 'start' | 'stop'>;
  /** Releases the socket of a pod to another process. */
  readonly releaseSocket: (podId: string) => Promise<void>;
}

const text = shape.text();
/** Absolute, because the caller has another working directory. */
const directory = shape.text('an absolute path', isAbsolute);

const NEW = shape.fields(
  { cwd: directory },
  {
    name: text,
    backend: text,
    model: text,
    mode: shape.choice(PERMISSION_MODES),
    thinking: shape.choice<ThinkingLevel>(THINKING_LEVELS),
    appendSystem: shape.anyText,
    autoTitle: shape.boolean,
  },
);

const POD = shape.fields({ pod: text }, {});
const FORK = shape.fields({ pod: text }, { entryId: text, name: text });
const LIST = shape.fields({}, { search: text });
const AGENT = shape.fields({ cwd: directory }, { config: text, stated: TASKS, foreground: shape.boolean });
const NOTHING = shape.fields({}, {});

/** The methods that only the daemon has, besides those of its pods. */
export function daemonMethods(parts: ControlParts): Readonly<Record<string, Method>> {
  const { host, setup, dataDirectory } = parts;
  return {
    status: async (params) => {
      readParams(NOTHING, params);
      return { ...(await parts.health()), commands: { ...(await parts.commands()) } };
    },
    metrics: async (params) => {
      readParams(NOTHING, params);
      return { text: metricsOf(await parts.health()) };
    },
    reload: async (params) => {
      readParams(NOTHING, params);
      return { ...(await parts.reload()) };
    },
    configuration: async (params) => {
      readParams(NOTHING, params);
      return { ...setup.state, keys: setup.keyNames };
    },
    stop: async (params) => {
      readParams(NOTHING, params);
      parts.stop();
      return { stopping: true };
    },
    ls: async (params) => {
      const { search } = readParams(LIST, params);
      return {
        sessions: search === undefined ? await host.sessions.list() : await host.sessions.search(search),
      };
    },
    new: async (params) => {
      const { cwd, ...settings } = readParams(NEW, params);
      const wanted: NewSession = { cwd: await existingDirectory(cwd), ...settings };
      return { ...(await newSession(host, setup.models, wanted)) };
    },
    approvals: async (params) => {
      readParams(NOTHING, params);
      return { approvals: await pendingApprovals(host) };
    },
    'watch-approvals': async (params, link) => {
      readParams(NOTHING, params);
      await watchApprovals(host, link);
      return { ended: true };
    },
    fork: async (params) => {
      const { pod, ...from } = readParams(FORK, params);
      return { id: (await host.fork(findSession(await host.sessions.list(), pod).id, from)).id };
    },
    rm: async (params) => {
      const { id } = findSession(await host.sessions.list(), readParams(POD, params).pod);
      await removeSession(host, dataDirectory, id);
      return { id };
    },
    restore: async (params) => ({
      ...(await restoreSession(host, dataDirectory, readParams(POD, params).pod)),
    }),
    'release-socket': async (params) => {
      const { pod } = readParams(POD, params);
      await parts.releaseSocket(pod);
      return { pod };
    },
    'agent-start': async (params) => {
      const { cwd, config, stated, foreground = false } = readParams(AGENT, params);
      const order = { cwd: await existingDirectory(cwd), config, stated: stated ?? {} };
      return { ...(await parts.agents.start(order, { process: 'daemon', isPermanent: !foreground })) };
    },
    'agent-stop': async (params) => {
      const { name } = readParams(shape.fields({ name: text }, {}), params);
      return { ...(await parts.agents.stop(name)) };
    },
  };
}

import { isAbsolute } from 'node:path';
import { type JsonObject, PolypodError, shape } from '../../base/index.ts';
import { type ThinkingLevel, THINKING_LEVELS } from '../../llm/index.ts';
import { type Host, type PodEvent, readCommand } from '../../pod/index.ts';
import { existingDirectory } from '../../setup/paths/index.ts';
import { findSession } from '../../setup/index.ts';
import type { Health } from '../observe/health.ts';
import { metricsOf } from '../observe/metrics.ts';
import { type NewSession, newSession } from '../sessions/new-session.ts';
import { pendingApprovals } from '../sessions/pending-approvals.ts';
import { removeSession } from '../sessions/remove-session.ts';
import type { Reloaded, Setup } from '../setup.ts';
import { TASKS } from '../../setup/config/index.ts';
import { encode } from './line.ts';
import type { TasksAgents } from '../tasks/tasks-agents.ts';
import type { Method } from './server.ts';
import { watchApprovals } from './watch-approvals.ts';

/** What the methods work with. */
export interface ControlParts {
  readonly host: Host;
  readonly setup: Setup;
  readonly dataDirectory: string;
  readonly health: () => Promise<Health>;
  /** How commands of agents are isolated and limited, in words. */
  readonly commands: () => Promise<NonNullable<Health['commands']>>;
  readonly reload: () => Promise<Reloaded>;
  /** Begins to stop; does not wait for it. */
  readonly stop: () => void;
  readonly agents: Pick<TasksAgents, 'start' | 'stop'>;
  /** Leaves the socket of a pod to another process. */
  readonly releaseSocket: (podId: string) => Promise<void>;
}

const text = shape.text();
/** Of the caller's: the daemon's own directory says nothing to it. */
const directory = shape.text('an absolute path', isAbsolute);

const NEW = shape.fields(
  { cwd: directory },
  {
    name: text,
    model: text,
    mode: shape.choice(['read-only', 'workspace-write', 'full-access']),
    thinking: shape.choice<ThinkingLevel>(THINKING_LEVELS),
    appendSystem: shape.anyText,
  },
);

const POD = shape.fields({ pod: text }, {});
const FORK = shape.fields({ pod: text }, { entryId: text, name: text });
const WATCH = shape.fields({ pod: text }, { after: shape.count(0) });
const COMMAND = shape.fields({ pod: text, command: shape.anyObject, by: text }, { key: text });
const LIST = shape.fields({}, { search: text });
const AGENT = shape.fields({ cwd: directory }, { config: text, stated: TASKS, foreground: shape.flag });
const NOTHING = shape.fields({}, {});

/** All that can be asked of a daemon on its own socket. */
export function methodsOf(parts: ControlParts): Readonly<Record<string, Method>> {
  const { host, setup, dataDirectory } = parts;
  const podNamed = async (word: string) => host.pod(findSession(await host.list(), word).id);
  return {
    status: async (params) => {
      read(NOTHING, params);
      return { ...(await parts.health()), commands: { ...(await parts.commands()) } };
    },
    metrics: async (params) => {
      read(NOTHING, params);
      return { text: metricsOf(await parts.health()) };
    },
    reload: async (params) => {
      read(NOTHING, params);
      return { ...(await parts.reload()) };
    },
    stop: async (params) => {
      read(NOTHING, params);
      parts.stop();
      return { stopping: true };
    },
    ls: async (params) => {
      const { search } = read(LIST, params);
      return { sessions: search === undefined ? await host.list() : await host.search(search) };
    },
    new: async (params) => {
      const { cwd, ...wish } = read(NEW, params);
      const wanted: NewSession = { cwd: await existingDirectory(cwd), ...wish };
      return { ...(await newSession(host, setup.models, wanted)) };
    },
    approvals: async (params) => {
      read(NOTHING, params);
      return { approvals: await pendingApprovals(host) };
    },
    'watch-approvals': async (params, link) => {
      read(NOTHING, params);
      await watchApprovals(host, link);
      return { ended: true };
    },
    fork: async (params) => {
      const { pod, ...from } = read(FORK, params);
      return { id: (await host.fork(findSession(await host.list(), pod).id, from)).id };
    },
    rm: async (params) => {
      const { id } = findSession(await host.list(), read(POD, params).pod);
      await removeSession(host, dataDirectory, id);
      return { id };
    },
    model: async (params) => {
      const { reference } = read(shape.fields({}, { reference: text }), params);
      const { llm, model, notices } = await setup.models.choose(reference);
      const { name, wire, baseUrl } = llm.account;
      return {
        choice: { provider: model.account, modelId: model.id },
        account: { name, wire, baseUrl },
        notices,
      };
    },
    command: async (params) => {
      const { pod, command, by, key } = read(COMMAND, params);
      const caller = { by, door: 'control', ...(key === undefined ? {} : { key }) };
      return { ...(await (await podNamed(pod)).handle(readCommand(command), caller)) };
    },
    'release-socket': async (params) => {
      const { pod } = read(POD, params);
      await parts.releaseSocket(pod);
      return { pod };
    },
    'agent-start': async (params) => {
      const { cwd, config, stated, foreground = false } = read(AGENT, params);
      const order = { cwd: await existingDirectory(cwd), config, stated: stated ?? {} };
      return { ...(await parts.agents.start(order, { process: 'daemon', lasts: !foreground })) };
    },
    'agent-stop': async (params) => {
      const { name } = read(shape.fields({ name: text }, {}), params);
      return { ...(await parts.agents.stop(name)) };
    },
    watch: async (params, { send, signal }) => {
      const { pod, after } = read(WATCH, params);
      const watching = (await podNamed(pod)).watch({ signal, ...(after === undefined ? {} : { after }) });
      for await (const watched of watching)
        await send(
          watched.type === 'snapshot' ? encode({ watched: { ...watched } }) : watched.batch.as(encodeEvents),
        );
      return { ended: true };
    },
  };
}

function encodeEvents(events: readonly PodEvent[]): string {
  return encode({ watched: { type: 'events', events } });
}

function read<T>(expected: shape.Shape<T>, params: JsonObject): T {
  const problems: shape.Problem[] = [];
  const value = expected.read(params, [], (problem) => problems.push(problem));
  if (value !== undefined) return value;
  throw new PolypodError('bad-request', shape.sentence('the params', problems));
}

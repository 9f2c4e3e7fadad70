import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { PolypodError, stringOf } from '../../base/index.ts';
import { type Door, type DoorContext, type OpenDoor, tasksDoor } from '../../protocols/index.ts';
import type { OpenDoors } from '../open-doors.ts';
import {
  type AgentRecord,
  DEFAULT_AGENT,
  doorName,
  isKept,
  savedAgentsDirectory,
  savedAgentFile,
  readAgent,
} from './agent-files.ts';
import type { SavedAgent } from './saved-agents.ts';
import type { AgentOrder } from './read-agent-config.ts';
import type { TasksAgentRequest, TasksParts } from './tasks-listener.ts';

/** The agents that are started and stopped while the daemon runs. */
export class TasksAgents {
  readonly #doors: OpenDoors;
  readonly #context: DoorContext;
  readonly #parts: TasksParts;
  readonly #files = new Set<string>();
  /** Runs the changes one after the other: two agents of the same name must not both find it unused. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(open: OpenDoors, context: DoorContext, parts: TasksParts) {
    this.#doors = open;
    this.#context = context;
    this.#parts = parts;
  }

  /** The configuration files and key files of the started agents. */
  get files(): readonly string[] {
    return [...this.#files];
  }

  /**
   * Opens the door of an agent, or rejects with the reason. A persistent agent is restored by the next daemon, unless it is
   * stopped.
   */
  start(
    order: AgentOrder,
    { process, isPermanent }: { readonly process: AgentRecord['process']; readonly isPermanent: boolean },
  ): Promise<AgentRecord> {
    return this.#inTurn(async () => {
      const { agentDoor, forgetAgent, saveAgent } = await loaded();
      const request = await this.#read(order);
      const name = request.stated.name ?? DEFAULT_AGENT;
      const open = this.#doors.get(doorName(name));
      if (open !== undefined)
        throw new PolypodError(
          'conflict',
          `the agent ${name} is up already at ${stringOf(open.status().url)}: use it, end it with polypod agent stop ${name}, or start this one under another name`,
        );
      const { dataPaths } = this.#parts;
      await this.#doors.openOrFail(
        [agentDoor(tasksDoor, request, { ...this.#parts, process })],
        this.#context,
      );
      const record = readAgent(dataPaths, name);
      if (record === undefined)
        throw new PolypodError('internal', `the agent ${name} has no record of its address`);
      const { cwd, config, stated } = order;
      const file = config === undefined ? {} : { config };
      if (isPermanent) saveAgent(dataPaths, { name, cwd, stated, ...file, port: portOf(record) });
      else forgetAgent(dataPaths, name);
      return record;
    });
  }

  /** Opens the doors of agents that an earlier daemon had. If one fails to open, it is reported. */
  restore(): Promise<void> {
    return this.#inTurn(async () => {
      const { dataPaths } = this.#parts;
      if (!existsSync(savedAgentsDirectory(dataPaths))) return;
      const { savedAgents } = await loaded();
      for (const [name, saved] of savedAgents(dataPaths)) {
        if (this.#doors.get(doorName(name)) !== undefined) continue;
        await this.#doors.open([this.#doorOf(name, saved)], {}, this.#context);
      }
    });
  }

  #doorOf(name: string, saved: SavedAgent | undefined): Door {
    return {
      name: doorName(name),
      needs: [],
      open: async (context) => {
        if (saved === undefined)
          throw new PolypodError(
            'internal',
            `${savedAgentFile(this.#parts.dataPaths, name)} cannot be read: start the agent again with polypod agent start ${name}`,
          );
        const { agentDoor } = await loaded();
        const { cwd, config, stated: asked } = saved;
        const request = await this.#read({ cwd, config, stated: asked });
        const open = (stated: TasksAgentRequest['stated']): Promise<OpenDoor> =>
          agentDoor(tasksDoor, { ...request, stated }, { ...this.#parts, process: 'daemon' }).open(context);
        const stated = { ...request.stated, name };
        if (stated.port !== 0) return open(stated);
        // Any port is allowed, but clients know the previous one.
        return open({ ...stated, port: saved.port }).catch(() => open(stated));
      },
    };
  }

  async #read(order: AgentOrder): Promise<TasksAgentRequest> {
    const { readAgentConfig } = await loaded();
    const request = await readAgentConfig(order, this.#parts.configured());
    await this.#note(order, request);
    return request;
  }

  /** Closes the door of an agent. Its active tasks continue in the daemon. */
  stop(name: string): Promise<AgentRecord | undefined> {
    return this.#inTurn(async () => {
      const { dataPaths } = this.#parts;
      const isOpen = this.#doors.get(doorName(name)) !== undefined;
      if (!isOpen && !isKept(dataPaths, name))
        throw new PolypodError('not-found', `no agent ${name} is up; polypod agent list lists the agents`);
      (await loaded()).forgetAgent(dataPaths, name);
      const record = readAgent(dataPaths, name);
      await this.#doors.shut(doorName(name));
      return record;
    });
  }

  async #note({ config, cwd }: AgentOrder, { stated, from }: TasksAgentRequest): Promise<void> {
    const { pathFrom } = await import('./tasks-listener.ts');
    const { tls, webhooks = [] } = stated;
    const keys = [tls?.key, ...webhooks.map(({ secret_file }) => secret_file)];
    if (config !== undefined) this.#files.add(resolve(cwd, config));
    for (const key of keys)
      if (key !== undefined) this.#files.add(pathFrom(from, key, this.#parts.dataPaths));
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

/** Loaded on first use: YAML and an HTTP server, which most daemons do not need. */
async function loaded() {
  const [door, config, saved] = await Promise.all([
    import('./agent-door.ts'),
    import('./read-agent-config.ts'),
    import('./saved-agents.ts'),
  ]);
  return { ...door, ...config, ...saved };
}

function portOf({ url }: AgentRecord): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

import { resolve } from 'node:path';
import { PolypodError, stringOf } from '../../base/index.ts';
import type { DoorContext } from '../../protocols/index.ts';
import { doors } from '../../registry.ts';
import type { OpenDoors } from '../open-doors.ts';
import { type AgentRecord, DEFAULT_AGENT, doorName, readAgent } from './agent-files.ts';
import type { AgentOrder } from './read-agent-config.ts';
import type { AgentWish, TasksParts } from './tasks-place.ts';

/** The agents of a daemon that are started and stopped while it is up. */
export class TasksAgents {
  readonly #doors: OpenDoors;
  readonly #context: DoorContext;
  readonly #parts: TasksParts;
  readonly #files = new Set<string>();
  /** One after the other: two of the same name must not both find it free. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(open: OpenDoors, context: DoorContext, parts: TasksParts) {
    this.#doors = open;
    this.#context = context;
    this.#parts = parts;
  }

  /** Configuration files and keys of the agents that were started. */
  get files(): readonly string[] {
    return [...this.#files];
  }

  /** Opens its door, or throws why that cannot be. */
  start(order: AgentOrder, process: AgentRecord['process']): Promise<AgentRecord> {
    return this.#inTurn(async () => {
      // With the first come YAML and a server for HTTP, which most daemons have no use for.
      const [{ agentDoor }, { readAgentConfig }] = await Promise.all([
        import('./agent-door.ts'),
        import('./read-agent-config.ts'),
      ]);
      const wish = await readAgentConfig(order, this.#parts.configured());
      await this.#note(order, wish);
      const name = wish.stated.name ?? DEFAULT_AGENT;
      const open = this.#doors.get(doorName(name));
      if (open !== undefined)
        throw new PolypodError(
          'conflict',
          `the agent ${name} is up already at ${stringOf(open.status().url)}: use it, end it with polypod agent stop ${name}, or start this one under another name`,
        );
      const base = doors.find((door) => door.name === 'tasks');
      if (base === undefined) throw new PolypodError('internal', 'there is no tasks door');
      await this.#doors.insist([agentDoor(base, wish, { ...this.#parts, process })], this.#context);
      const record = readAgent(this.#parts.places, name);
      if (record !== undefined) return record;
      throw new PolypodError('internal', `the agent ${name} left no trace of where it is`);
    });
  }

  /** Closes its door. What it has begun goes on: it belongs to the daemon. */
  stop(name: string): Promise<AgentRecord | undefined> {
    return this.#inTurn(async () => {
      if (this.#doors.get(doorName(name)) === undefined)
        throw new PolypodError(
          'not-found',
          `no agent ${name} is up; polypod agent list shows those that are`,
        );
      const record = readAgent(this.#parts.places, name);
      await this.#doors.shut(doorName(name));
      return record;
    });
  }

  async #note({ config, cwd }: AgentOrder, { stated, from }: AgentWish): Promise<void> {
    const { pathFrom } = await import('./tasks-place.ts');
    const { tls, webhooks = [] } = stated;
    const keys = [tls?.key, ...webhooks.map(({ secret_file }) => secret_file)];
    if (config !== undefined) this.#files.add(resolve(cwd, config));
    for (const key of keys) if (key !== undefined) this.#files.add(pathFrom(from, key, this.#parts.places));
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

/** A command that runs for an agent. */
export interface AgentCommand {
  /** A text in the environment of its processes, which no other process has. */
  readonly mark: string;
  /** The process that was started for it. */
  readonly root: number;
}

/** The environment variable that holds the marks of the commands that a process belongs to, separated by commas. */
export const CALL_MARK = 'POLYPOD_CALL';

/**
 * The commands that this process runs for agents now, and those of which processes could not be ended. Sockets look here
 * before they accept a connection: an agent's command must not control the program that supervises it.
 */
class AgentCommands {
  readonly #running = new Map<string, AgentCommand>();

  /** Call `remove` with the same mark when none of its processes is left. */
  add(command: AgentCommand): void {
    this.#running.set(command.mark, command);
  }

  remove(mark: string): void {
    this.#running.delete(mark);
  }

  all(): readonly AgentCommand[] {
    return [...this.#running.values()];
  }
}

/** One per process, as the processes are. */
export const agentCommands = new AgentCommands();

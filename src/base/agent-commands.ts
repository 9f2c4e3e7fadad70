/** A command that this process runs for an agent. */
export interface AgentCommand {
  /** A unique string in the environment of the command's processes. */
  readonly mark: string;
  /** The process id of the command's first process. */
  readonly root: number;
}

/** The environment variable that holds the marks of the commands that a process belongs to, separated by commas. */
export const CALL_MARK_VARIABLE = 'POLYPOD_CALL';

/**
 * The commands that this process runs for agents, including those whose processes could not be killed. Sockets check this
 * list before they accept a connection: an agent's command must not control the program that supervises it.
 */
class AgentCommands {
  readonly #running = new Map<string, AgentCommand>();

  /** Call `remove` with the same mark when all processes of the command have exited. */
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

/** The list of this process. */
export const agentCommands = new AgentCommands();

/** An agent for the tests. */
export interface TestAgent {
  readonly packages: readonly string[];
  readonly bin: string;
  readonly node?: true;
  /** The call of its tool for commands. */
  readonly bash: (command: string) => { readonly name: string; readonly arguments: object };
  /** Writes the configuration of a user whose model is the simulator, and returns the environment. */
  readonly prepare: (home: string, url: string) => Readonly<Record<string, string>>;
  /** Whether the reason of a denial reaches the model. */
  readonly sendsReasons: boolean;
  /** Whether it reports a command that failed as failed. The model receives the error in any case. */
  readonly marksFailures: boolean;
}

export const agentsDirectory: string;
export const AGENTS: Readonly<Record<string, TestAgent>>;
export function agentCommand(name: string): readonly [string, ...string[]];

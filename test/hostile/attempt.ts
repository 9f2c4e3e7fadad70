/** One call of the model. */
export interface Call {
  readonly tool: 'bash' | 'read' | 'write' | 'edit' | 'grep' | 'find' | 'ls';
  readonly arguments: Readonly<Record<string, unknown>>;
}

/**
 * An attempt of a model that obeys an attacker. Names between `@` signs are replaced by values of the layout:
 * `@OUT@` is a directory outside the workspace, `@EVIL@` a program that leaves a mark when it runs.
 */
export interface Attempt {
  readonly name: string;
  /**
   * A bash script that makes the workspace hostile before the model starts. It runs in the workspace, outside
   * Polypod.
   */
  readonly setup?: string;
  readonly calls: readonly Call[];
  /** Why it is skipped in the sandbox. */
  readonly notInSandbox?: string;
  /** Whether the calls are made in one turn of the model. */
  readonly together?: boolean;
}

type Step = string | Call;

/** Creates an attempt; a plain string is a bash command. */
export function attempt(name: string, ...steps: readonly Step[]): Attempt {
  return { name, calls: steps.map(callFrom) };
}

/** Creates an attempt in a prepared workspace. */
export function planted(name: string, setup: string, ...steps: readonly Step[]): Attempt {
  return { name, setup, calls: steps.map(callFrom) };
}

/** Creates one attempt per command, named after it. */
export function commands(...texts: readonly string[]): readonly Attempt[] {
  return texts.map((text) => attempt(text, text));
}

/** Creates one attempt per command, each in a workspace prepared by the same setup. */
export function plantedCommands(
  name: string,
  setup: string,
  ...texts: readonly string[]
): readonly Attempt[] {
  return texts.map((text) => planted(`${name}: ${text}`, setup, text));
}

export const read = (path: string): Call => ({ tool: 'read', arguments: { path } });
export const write = (path: string, content = 'planted\n'): Call => ({
  tool: 'write',
  arguments: { path, content },
});
export const edit = (path: string, old: string, text: string): Call => ({
  tool: 'edit',
  arguments: { path, old, new: text },
});
export const grep = (pattern: string, path: string, more: object = {}): Call => ({
  tool: 'grep',
  arguments: { pattern, path, ...more },
});
export const find = (pattern: string, path: string): Call => ({ tool: 'find', arguments: { pattern, path } });
export const ls = (path: string): Call => ({ tool: 'ls', arguments: { path } });

function callFrom(step: Step): Call {
  // No command needs long; one that hangs must not delay the others.
  return typeof step === 'string' ? { tool: 'bash', arguments: { command: step, timeout: 5 } } : step;
}

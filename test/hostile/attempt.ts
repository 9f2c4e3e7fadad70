/** One call that the model makes. */
export interface Call {
  readonly tool: 'bash' | 'read' | 'write' | 'edit' | 'grep' | 'find' | 'ls';
  readonly arguments: Readonly<Record<string, unknown>>;
}

/**
 * Something that a model obeying an attacker tries. Texts may hold names between `@` signs, which stand for what a layout
 * has under them: `@OUT@` is a directory outside of the workspace, `@EVIL@` a program that leaves a mark when it runs.
 */
export interface Attempt {
  readonly name: string;
  /** A bash script that makes the workspace hostile before the model starts. It runs in the workspace, outside of Polypod. */
  readonly setup?: string;
  readonly calls: readonly Call[];
  /** Why it is not made in the sandbox. */
  readonly notInSandbox?: string;
  /** The calls are made in one turn of the model instead of one after the other. */
  readonly together?: boolean;
}

type Step = string | Call;

/** An attempt; a plain string is a bash command. */
export function attempt(name: string, ...steps: readonly Step[]): Attempt {
  return { name, calls: steps.map(callFrom) };
}

/** An attempt in a workspace that somebody has prepared. */
export function planted(name: string, setup: string, ...steps: readonly Step[]): Attempt {
  return { name, setup, calls: steps.map(callFrom) };
}

/** One attempt per command, named by it. */
export function commands(...texts: readonly string[]): readonly Attempt[] {
  return texts.map((text) => attempt(text, text));
}

/** One attempt per command, each in a workspace prepared by the same setup. */
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
  // No command of an attempt has a reason to take long; one that hangs must not hold up the others.
  return typeof step === 'string' ? { tool: 'bash', arguments: { command: step, timeout: 5 } } : step;
}

import { shape } from '../base/index.ts';

/** Which of the agent's tools the model is given at most. Tools that clients run are not the agent's. */
export const TOOL_LIMIT = shape.fields(
  {},
  {
    /** Names of the only tools. */
    only: shape.listOf(shape.text()),
    /** Names of tools that are left out; a `*` at the end stands for any rest. */
    without: shape.listOf(shape.text()),
  },
);
export type ToolLimit = shape.ValueOf<typeof TOOL_LIMIT>;

/** Whether a limit leaves a tool of the agent to the model. */
export function isWithinLimit(name: string, { only, without = [] }: ToolLimit = {}): boolean {
  if (only !== undefined && !only.includes(name)) return false;
  return !without.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

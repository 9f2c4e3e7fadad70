import { compileNameGlob, shape } from '../base/index.ts';

/** Limits the agent's tools that the model receives. Client tools are not limited. */
export const TOOL_LIMIT = shape.fields(
  {},
  {
    /** The only allowed tools. */
    only: shape.listOf(shape.text()),
    /** Globs for the names of excluded tools. */
    without: shape.listOf(shape.text()),
  },
);
export type ToolLimit = shape.ValueOf<typeof TOOL_LIMIT>;

/** Whether a limit allows a tool of the agent. */
export function isWithinLimit(name: string, { only, without = [] }: ToolLimit = {}): boolean {
  if (only !== undefined && !only.includes(name)) return false;
  // A glob with too many alternatives excludes everything.
  return !without.some((glob) => compileNameGlob(glob)?.(name) ?? true);
}

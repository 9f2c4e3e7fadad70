import { type JsonObject, stringOf } from '../base/index.ts';

/** What is known about a session that may belong to a sub-agent: its settings or its row. */
export interface LabelledSession {
  readonly name?: string;
  readonly annotations?: JsonObject;
}

/** The annotations of a sub-agent's session. It has no name, because names identify sessions and belong to people. */
export function subagentAnnotations(description: string): JsonObject {
  return { subagent: description };
}

/** What a child was asked to do, or its name. */
export function childLabel({ name, annotations }: LabelledSession): string | undefined {
  return stringOf(annotations?.subagent) || name;
}

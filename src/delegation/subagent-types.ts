import type { PermissionMode } from '../tools/index.ts';

/** A kind of sub-agent. All that it states narrows what the parent may do. */
export interface SubagentType {
  readonly name: string;
  /** For the model: when to use it. */
  readonly description: string;
  /** Appended to the system prompt. */
  readonly system: string;
  /** The tools that it may use; all of its parent's if absent. */
  readonly tools?: readonly string[];
  /** The highest permission mode; its parent's if absent. */
  readonly mode?: PermissionMode;
  /** `provider/id`; its parent's model if absent. */
  readonly model?: string;
}

export const BUILT_IN_TYPES: readonly SubagentType[] = [
  {
    name: 'general',
    description: 'does any work that can be described completely, with all of your tools',
    system: 'Do exactly the work that you are given, and check it.',
  },
  {
    name: 'explore',
    description: 'finds things in the workspace and answers questions about it; it changes nothing',
    system:
      'You explore the workspace and change nothing. Search broadly first, then read what matters. Answer with paths and line numbers.',
    tools: ['read', 'ls', 'find', 'grep', 'bash'],
    mode: 'read-only',
  },
];

/** The system prompt of a sub-agent: the rules for all of them, then the text of its type. */
export function subagentSystem({ system }: Pick<SubagentType, 'system'>): string {
  return `You are a sub-agent: another agent gave you this work and waits for it. Nobody answers questions. Your last message is the only thing that the other agent receives, so it must contain the complete result.\n\n${system}`;
}

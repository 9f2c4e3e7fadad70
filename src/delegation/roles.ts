/** The roles that work for a coordinator. */
export const ROLES = ['developer', 'reviewer'] as const;
export type Role = (typeof ROLES)[number];

export interface RoleSettings {
  /** Appended to the system prompt. */
  readonly system: string;
  /** The tools that the role may use; all tools if absent. */
  readonly tools?: readonly string[];
}

export const ROLE_SETTINGS: Readonly<Record<Role, RoleSettings>> = {
  developer: {
    system:
      'You are the developer. Do exactly the work that you are given, check it, and say in a few sentences what you changed and how you checked it.',
  },
  reviewer: {
    system:
      'You are the reviewer. Judge the work that you are shown: look into the files, change nothing. Begin your answer with APPROVED or CHANGES NEEDED, and name each thing that has to change.',
    tools: ['read', 'ls', 'find', 'grep'],
  },
};

/** The coordinator's instructions, sent in addition to its task. */
export function coordinatorSystem(delegations: number): string {
  return [
    'You are the coordinator. Make a short plan, then have it done: delegate the work to the developer, and its result to the reviewer, who sees what was changed.',
    'When the reviewer asks for changes, delegate those to the developer. What is small enough you may do yourself.',
    `You may delegate ${delegations} times. At the end say what was done and what is left.`,
  ].join(' ');
}

/** What a person, or a program for them, decides about a tool call that needs approval. */
export const DECISIONS = ['approve', 'deny'] as const;
export type Decision = (typeof DECISIONS)[number];

/** How long an approval is remembered for calls like it: not at all, for the session, or as a rule. */
export const REMEMBER_OPTIONS = ['once', 'session', 'always'] as const;
export type RememberOption = (typeof REMEMBER_OPTIONS)[number];

/** What happens to an approval request at its deadline: it is denied, or the run pauses. */
export const DEADLINE_FALLBACKS = ['deny', 'pause'] as const;
export type DeadlineFallback = (typeof DEADLINE_FALLBACKS)[number];

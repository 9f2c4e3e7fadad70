/**
 * What an agent may do without asking if no rule decides, from the least to the most.
 *
 * - `read-only`: it writes nothing, and runs only commands that are known to only read. Rules cannot change
 *   this.
 * - `workspace-write`: it reads and writes files inside the scope. Commands ask, unless they only read or run
 *   in a sandbox.
 * - `full-access`: it may do everything, including reading secrets. Rules that ask or deny still apply.
 *
 * In the first two modes, paths outside the scope ask, for reading as for writing: a coding agent rarely reads
 * files elsewhere, and what it reads leaves the machine. `withUnrestrictedReads` creates a scope that allows
 * such reads.
 */
export const PERMISSION_MODES = ['read-only', 'workspace-write', 'full-access'] as const;
export type PermissionMode = (typeof PERMISSION_MODES)[number];

/** Decides whether a call may run: modes, rules, the scope, and a second check at the moment of use. */
export { isApprovedByRules } from './approved-by-rules.ts';
export { examine } from './examine.ts';
export { type FileFacts, fileFacts, fileFactsFor } from './file-facts.ts';
export { guardFor } from './guard.ts';
export { judge } from './judge.ts';
export type { ExaminedCall, JudgedAccess, JudgedGit } from './judged-access.ts';
export { PERMISSION_MODES, type PermissionMode } from './permission-mode.ts';
export type { Policy, Verdict } from './policy.ts';
export { findProgram } from './shell/program.ts';
export { type PathLocation, realPath, type RealPath } from './real-path.ts';
export { ruleFor } from './remember.ts';
export { fixedGitEnvironment, type Repository } from './git/repository.ts';
export { matchesTool, type Rule, RULE_ACTIONS } from './rule.ts';
export { isInside, mayWrite, withUnrestrictedReads, type Scope, scopeFrom } from './scope.ts';
export { isSecret } from './secret-files.ts';
export { isStartupFile, type StartupFiles, startupFilesBelow } from './startup-files.ts';

import { userInfo } from 'node:os';
import { tryOrUndefined } from './try-or-undefined.ts';

/** The name of the current user, recorded with commands and approvals. */
export function userName({ USER, LOGNAME }: NodeJS.ProcessEnv): string {
  return USER || LOGNAME || accountName() || 'someone';
}

/** Containers and cron often set neither variable. */
function accountName(): string | undefined {
  // The user id has no account, which is common in containers.
  return tryOrUndefined(() => userInfo().username);
}

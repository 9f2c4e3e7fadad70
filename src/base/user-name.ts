import { userInfo } from 'node:os';

/** The name of the current user, recorded with commands and approvals. */
export function userName({ USER, LOGNAME }: NodeJS.ProcessEnv): string {
  return USER || LOGNAME || accountName() || 'someone';
}

/** Containers and cron often set neither variable. */
function accountName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    // The user id has no account, which is common in containers.
    return undefined;
  }
}

import { userInfo } from 'node:os';

/** The name by which others are told who it was. */
export function userName({ USER, LOGNAME }: NodeJS.ProcessEnv): string {
  return USER || LOGNAME || accountName() || 'someone';
}

/** Containers and cron set no variable, and the system knows the name all the same. */
function accountName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    // A user id without an account, as containers may have.
    return undefined;
  }
}

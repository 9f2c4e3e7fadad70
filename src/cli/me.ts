import { userInfo } from 'node:os';
import type { Surroundings } from './command.ts';

/** The name by which others are told who it was. */
export function nameOf({ env }: Pick<Surroundings, 'env'>): string {
  return env.USER || env.LOGNAME || accountName() || 'someone';
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

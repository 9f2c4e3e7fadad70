import { userName } from '../base/index.ts';
import type { CommandContext } from './command.ts';

/** The user name that other clients see. */
export function currentUserName({ env }: Pick<CommandContext, 'env'>): string {
  return userName(env);
}

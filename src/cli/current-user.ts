import { userName } from '../base/index.ts';
import type { Surroundings } from './command.ts';

/** The user name that other clients see. */
export function currentUserName({ env }: Pick<Surroundings, 'env'>): string {
  return userName(env);
}

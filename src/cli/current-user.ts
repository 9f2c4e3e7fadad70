import { userName } from '../base/index.ts';
import type { Surroundings } from './command.ts';

/** The name by which others are told who it was. */
export function currentUserName({ env }: Pick<Surroundings, 'env'>): string {
  return userName(env);
}

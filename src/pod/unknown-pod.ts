import { PolypodError } from '../base/index.ts';

class UnknownPod extends PolypodError {
  constructor(id: string) {
    super('not-found', `there is no pod ${id}: list the sessions to see which there are`);
  }
}

/** For an id that no session has, or has any more. */
export function unknownPod(id: string): PolypodError {
  return new UnknownPod(id);
}

/** Whether something was refused because there is no such session. */
export function isUnknownPod(thrown: unknown): boolean {
  return thrown instanceof UnknownPod;
}

import { PolypodError } from '../base/index.ts';

class UnknownPod extends PolypodError {
  constructor(id: string) {
    super('not-found', `there is no pod ${id}: list the sessions to see which there are`);
  }
}

/** The error for an id without a session. */
export function unknownPod(id: string): PolypodError {
  return new UnknownPod(id);
}

/** Whether an error says that a session does not exist. */
export function isUnknownPod(thrown: unknown): boolean {
  return thrown instanceof UnknownPod;
}

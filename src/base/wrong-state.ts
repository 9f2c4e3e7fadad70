import { PolypodError } from './errors.ts';

/** The command makes no sense in the state that the pod is in: a run is under way, or none is. Not every `conflict` is one. */
export class WrongState extends PolypodError {
  constructor(message: string) {
    super('conflict', message);
  }
}

import type { ModelChoice } from '../../pod/index.ts';
import type { Door } from '../door.ts';

/** What the HLD door gets beyond the shared context. */
export interface HldNeeds {
  readonly user: User;
  /** The model behind a word such as `opus`, or a reference; undefined when there is none. */
  readonly modelNamed: (word: string) => Promise<ModelChoice | undefined>;
}

/** The user whose process it is: the door listens where this user's clients connect. */
export interface User {
  readonly home: string;
  /** The directory in which the process was started. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const hldDoor: Door<HldNeeds, 'hld'> = {
  name: 'hld',
  needs: ['user', 'modelNamed'],
  open: async (context) => (await import('./open-hld-door.ts')).openHldDoor(context),
};

import type { ModelChoice } from '../../pod/index.ts';

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

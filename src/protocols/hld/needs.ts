import type { ModelChoice } from '../../pod/index.ts';

/** What the HLD door requires beyond the shared context. */
export interface HldNeeds {
  readonly user: User;
  /** Resolves an alias such as `opus`, or a model reference; undefined if there is none. */
  readonly modelNamed: (word: string) => Promise<ModelChoice | undefined>;
}

/** The user of the process: the door listens where this user's clients connect. */
export interface User {
  readonly home: string;
  /** The directory in which the process was started. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

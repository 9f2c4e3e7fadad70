import type { Script } from '../../../src/sim/index.ts';
import type { Client } from './client.ts';

/** A client before an agent whose model does what a script says. */
export interface Staged {
  readonly client: Client;
  readonly cwd: string;
  /** Where the model is. */
  readonly baseUrl: string;
  readonly version: string;
  readonly configFile: string;
}

/** What a host may wish, however it is connected. */
export interface Wishes {
  /** Nothing is kept. */
  readonly inMemory?: boolean;
  readonly hasOneModel?: boolean;
  readonly echoErrors?: boolean;
  /** Commands are asked about. */
  readonly isAsking?: boolean;
  readonly rules?: readonly {
    readonly name: string;
    readonly content: string;
    readonly condition: readonly string[];
  }[];
  /** The code of an extension. */
  readonly extension?: string;
  readonly emitsTitle?: boolean;
  /** What takes a minute takes a moment. */
  readonly isHasty?: boolean;
}

export type Stage = (script: Script, wishes?: Wishes) => Promise<Staged>;

import type { Script } from '../../../src/sim/index.ts';
import type { Client } from './client.ts';

/** A client of an agent whose model follows a script. */
export interface RpcFixture {
  readonly client: Client;
  readonly cwd: string;
  /** The URL of the model. */
  readonly baseUrl: string;
  readonly version: string;
  readonly configFile: string;
}

/** The options of a host, however it is connected. */
export interface RpcFixtureOptions {
  /** Sessions are only in memory. */
  readonly inMemory?: boolean;
  readonly hasOneModel?: boolean;
  readonly echoErrors?: boolean;
  /** Commands require approval. */
  readonly isAsking?: boolean;
  readonly rules?: readonly {
    readonly name: string;
    readonly content: string;
    readonly condition: readonly string[];
  }[];
  /** The code of an extension. */
  readonly extension?: string;
  readonly emitsTitle?: boolean;
  /** Shortens delays of a minute. */
  readonly hasShortDelays?: boolean;
}

export type OpenRpcFixture = (script: Script, options?: RpcFixtureOptions) => Promise<RpcFixture>;

import type { ConnectOptions, Environment, Llm, Model } from '../../llm/index.ts';
import type { Config } from '../config/config.ts';
import type { DataPaths } from '../paths/data-paths.ts';

/** A connected model, with notices for the user. */
export interface ReadyModel {
  readonly llm: Llm;
  readonly model: Model;
  readonly notices: readonly string[];
}

/** A known model. */
export interface ListedModel {
  readonly reference: string;
  /** Why it cannot be used, such as a missing key, with the next step; undefined if it can. */
  readonly problem: string | undefined;
}

export interface ModelAccessOptions {
  readonly env: Environment;
  readonly config: Config;
  readonly dataPaths: DataPaths;
  /** The default model; takes precedence over the environment and the configuration. */
  readonly reference?: string | undefined;
  /** Use only the simulated model. */
  readonly offline?: boolean;
  /** Use only models on this machine: requests to other addresses are rejected. */
  readonly isLocal?: boolean;
  readonly connect?: ConnectOptions;
}

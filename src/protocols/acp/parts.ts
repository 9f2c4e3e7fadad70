import type { Host, OfferedModel, PermissionMode, SettingsChange } from '../../pod/index.ts';
import type { AvailableCommand } from './wire.ts';

/** What a connection needs from the program that serves it. */
export interface AcpParts {
  readonly host: Host;
  readonly version: string;
  /** The person who sends the commands, as other doors show it. */
  readonly by: string;
  /** The models that can be used now. */
  readonly models: () => Promise<readonly OfferedModel[]>;
  /** Resolves if new sessions have a model. Rejects with the next step if there is no account, or the configuration is invalid. */
  readonly requireModel: () => Promise<void>;
  /** Reads the configuration again. */
  readonly reload: () => Promise<void>;
  /** The permission mode of sessions that set none. */
  readonly mode: () => PermissionMode;
  /** The settings of new sessions. */
  readonly settings?: SettingsChange | undefined;
  /** The slash commands of a directory, which become prompts. */
  readonly commands: (cwd: string) => Promise<readonly AvailableCommand[]>;
  /** The prompt for a text that begins with a slash command; undefined if there is no such command. */
  readonly expand: (cwd: string, text: string) => Promise<string | undefined>;
  /** The program and arguments that set up an account in a terminal. */
  readonly setup: { readonly command: string; readonly args: readonly string[] };
  /** Whether commands may run in terminals of the editor. */
  readonly terminals: boolean;
  /** Whether sessions continue without the client. */
  readonly survivesClient: boolean;
}

import type { Host, OfferedModel, SettingsChange } from '../../pod/index.ts';
import type { AvailableCommand } from './wire.ts';

/** What a connection needs from the program that serves it. */
export interface AcpParts {
  readonly host: Host;
  readonly version: string;
  /** The person who sends the commands, as other doors show it. */
  readonly by: string;
  /** The models that can be used now. */
  readonly models: () => Promise<readonly OfferedModel[]>;
  /** Resolves the model of new sessions. Rejects with the next step if there is no account. */
  readonly defaultModel: () => Promise<OfferedModel>;
  /** The permission mode of sessions that set none. */
  readonly mode: 'read-only' | 'workspace-write' | 'full-access';
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

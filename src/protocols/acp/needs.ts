import type { PermissionMode } from '../../pod/index.ts';
import type { Inventory } from '../inventory.ts';

/** The file name of the daemon's socket for this protocol, in the runtime directory. */
export const ACP_SOCKET = 'acp.sock';

/** What the ACP door requires beyond the shared context. */
export interface AcpNeeds {
  readonly inventory: Inventory;
  /** The permission mode of sessions that set none. */
  readonly defaultMode: () => PermissionMode;
  /** Reads the configuration again. If it is invalid, nothing changes and the error is thrown. */
  readonly reloadConfig: () => Promise<void>;
}

import type { Inventory } from '../inventory.ts';

/** What the RPC door requires beyond the shared context. */
export interface RpcNeeds {
  readonly inventory: Inventory;
}

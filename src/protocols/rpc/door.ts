import type { Door } from '../door.ts';
import type { RpcNeeds } from './needs.ts';

export const rpcDoor: Door<RpcNeeds, 'rpc'> = {
  name: 'rpc',
  needs: ['inventory'],
  open: async (context) => (await import('./link/open-rpc-door.ts')).openRpcDoor(context),
};

import type { Door } from '../door.ts';
import type { AcpNeeds } from './needs.ts';

export const acpDoor: Door<AcpNeeds, 'acp'> = {
  name: 'acp',
  needs: ['inventory', 'defaultMode', 'reloadConfig'],
  open: async (context) => (await import('./link/open-acp-door.ts')).openAcpDoor(context),
};

import type { Door } from '../door.ts';
import type { HldNeeds } from './needs.ts';

export const hldDoor: Door<HldNeeds, 'hld'> = {
  name: 'hld',
  needs: ['user', 'modelNamed'],
  open: async (context) => (await import('./open-hld-door.ts')).openHldDoor(context),
};

/** The doors: each turns one wire into commands and events into that wire. */
import type { User } from './door.ts';

export type { Door, DoorContext, Inventory, OpenDoor, User, Vitals } from './door.ts';
export * from './rpc/index.ts';

/** Where this user's HLD clients look. Throws when another daemon is running there. The door is loaded with the question. */
export async function freeHldSocket(user: Pick<User, 'home' | 'env'>): Promise<string> {
  return (await import('./hld/index.ts')).freeHldSocket(user);
}

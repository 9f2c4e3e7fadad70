/** The doors: each turns one wire into commands and events into that wire. */
import type { User } from './door.ts';

export type { Door, DoorContext, OpenDoor, User, Vitals } from './door.ts';
export * from './rpc/index.ts';

/** Throws when another HLD daemon is running where this user's clients look; the door is loaded with the question. */
export async function refuseBesideHld(user: Pick<User, 'home' | 'env'>): Promise<void> {
  await (await import('./hld/index.ts')).refuseBesideHld(user);
}

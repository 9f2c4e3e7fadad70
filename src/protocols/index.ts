/** The doors: each turns one wire into commands and events into that wire. */
export type { Door, DoorContext, OpenDoor, Vitals } from './door.ts';
export * from './rpc/index.ts';

/** The HumanLayer daemon's protocol: sessions, conversations and approvals as JSON-RPC 2.0 on a Unix socket. */
export { type OpenHld, startHld } from './listener.ts';
export { freeHldSocket, openHldDoor } from './open-hld-door.ts';
export { type HldSettings, hldSocketPath } from './settings.ts';

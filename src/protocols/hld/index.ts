/** The HumanLayer daemon's protocol: sessions, conversations and approvals as JSON-RPC 2.0 on a Unix socket. */
export { type OpenHld, startHld } from './door.ts';
export type { HldSettings } from './settings.ts';

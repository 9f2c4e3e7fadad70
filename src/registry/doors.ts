import { acpDoor } from '../protocols/acp/door.ts';
import { hldDoor } from '../protocols/hld/door.ts';
import { podDoor } from '../protocols/pod/door.ts';
import { rpcDoor } from '../protocols/rpc/door.ts';
import { tasksDoor } from '../protocols/tasks/door.ts';

/** Each describes itself here; its code is loaded when it is opened. */
export const doors = [podDoor, hldDoor, rpcDoor, acpDoor, tasksDoor] as const;
export type KnownDoor = (typeof doors)[number];

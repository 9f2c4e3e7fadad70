import type { DoorContext, OpenDoor } from '../door.ts';
import type { HldNeeds, User } from './needs.ts';
import { refuseBesideAnother, startHld } from './listener.ts';
import { hldSocketPath } from './settings.ts';

/** Opens the door on the socket that clients of the HumanLayer daemon connect to. */
export async function openHldDoor({
  host,
  version,
  log,
  caught,
  user,
  modelNamed,
}: DoorContext & HldNeeds): Promise<OpenDoor> {
  const { home, cwd } = user;
  const socketPath = socketFor(user);
  return startHld({
    host,
    version,
    log,
    caught: (thrown) => caught?.(thrown, 'hld'),
    home,
    cwd,
    socketPath,
    modelNamed,
  });
}

/** The socket path of this user's clients. Throws if another daemon is running there. */
export async function freeHldSocket(user: Pick<User, 'home' | 'env'>): Promise<string> {
  const path = socketFor(user);
  await refuseBesideAnother(path);
  return path;
}

function socketFor({ home, env }: Pick<User, 'home' | 'env'>): string {
  return hldSocketPath(env.HUMANLAYER_DAEMON_SOCKET, home);
}

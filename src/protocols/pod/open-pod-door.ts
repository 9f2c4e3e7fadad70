import { join } from 'node:path';
import { messageOf } from '../../base/index.ts';
import type { PodMove } from '../../pod/index.ts';
import type { DoorContext, OpenDoor } from '../door.ts';
import { PodDoor } from './door.ts';
import { DEFAULT_DUPLEX, serveDuplex } from './duplex-link.ts';
import { PodSockets } from './pod-sockets.ts';

/** Opens the door of a host: a socket for every pod that is in memory, and links that come in otherwise. */
export async function openPodDoor({ host, directory, log, caught }: DoorContext): Promise<OpenDoor> {
  const door = new PodDoor();
  const sockets = new PodSockets(door, {
    directory: join(directory, 'pods'),
    caught: (thrown) => caught?.(thrown, 'pod'),
  });
  /** What happens to a pod's socket, one thing after the other. */
  const turns = new Map<string, Promise<void>>();
  const follow = (id: string, what: PodMove | 'changed'): void => {
    const turn = (turns.get(id) ?? Promise.resolve()).then(() => attend(id, what));
    turns.set(id, turn);
    void turn.then(() => {
      if (turns.get(id) === turn) turns.delete(id);
    });
  };
  const attend = async (id: string, what: PodMove | 'changed'): Promise<void> => {
    try {
      if (what === 'out') return await sockets.close(id);
      if (what === 'in') await sockets.open(host.pod(id));
      const name = host.row(id)?.name;
      await sockets.name(id, name !== undefined && host.byName(name).length === 1 ? name : undefined);
    } catch (thrown) {
      log.warn('a pod has no socket', { pod: id, reason: messageOf(thrown) });
    }
  };
  /** A name that comes or goes also gives or takes the link of those that are called the same. */
  const followNamesakes = (name: string | undefined): void => {
    if (name !== undefined) for (const { id } of host.byName(name)) follow(id, 'changed');
  };
  const stops = [
    host.onPods((id, move) => {
      follow(id, move);
      if (move === 'in') followNamesakes(host.row(id)?.name);
    }),
    host.onChange(({ id, before }) => {
      const name = host.row(id)?.name;
      if (before?.name === name) return;
      follow(id, 'changed');
      followNamesakes(before?.name);
      followNamesakes(name);
    }),
  ];
  return {
    status: () => ({ directory: join(directory, 'pods'), sockets: sockets.size, refused: door.refused }),
    attach: (link, pod, head) => void serveDuplex(door, pod, link, DEFAULT_DUPLEX, head),
    close: async () => {
      for (const stop of stops) stop();
      await Promise.all(turns.values());
      await sockets.closeAll();
    },
  };
}

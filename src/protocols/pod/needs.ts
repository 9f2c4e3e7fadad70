import type { Duplex } from 'node:stream';
import type { Pod } from '../../pod/index.ts';
import type { OpenDoor } from '../door.ts';

/** What the pod door requires beyond the shared context. */
export interface PodNeeds {
  /** How many named pods have a socket while they are not in memory; 0 in a process that is not a daemon. */
  readonly namedSockets: number;
  /** Asks the process that listens for a pod to release the socket to this process, which has the pod in memory. */
  readonly claimSocket: (podId: string) => Promise<void>;
}

export interface OpenPodDoor extends OpenDoor {
  /** Serves a connection that was accepted on the daemon's own socket. `head` is the input after its first line. */
  readonly attach: (link: Duplex, pod: Pod, head: Uint8Array) => void;
  /** Releases the socket of a pod to another process until that process closes it. */
  readonly release: (podId: string) => Promise<void>;
}

import type { Audit } from '../audit/index.ts';
import type { JsonObject, Log } from '../base/index.ts';
import type { Host } from '../pod/index.ts';

/** Everything that the process passes to every door. */
export interface DoorContext {
  readonly host: Host;
  /** The directory for sockets. It exists, and only its user can enter it. */
  readonly directory: string;
  readonly version: string;
  readonly log: Log;
  /** Reports an unexpected error that has ended a connection of the named door. */
  readonly caught?: (thrown: unknown, door: string) => void;
  /** Records the actions of clients and the requests that were refused. */
  readonly audit?: Audit | undefined;
}

/** A protocol that gives clients access to pods. `Needs` is what the door requires beyond the shared context. */
export interface Door<Needs extends object = object, Name extends string = string> {
  readonly name: Name;
  /** All keys of `Needs`. The process passes exactly these to the door. */
  readonly needs: readonly (keyof Needs & string)[];
  /** Loads the door and opens it, or throws the reason why it cannot be opened. */
  readonly open: (context: DoorContext & Needs) => Promise<OpenDoor>;
}

export interface OpenDoor {
  /** The door's section of `polypod status`. `links` and `refused` (the number of refused requests) are also exported as metrics. */
  readonly status: () => JsonObject;
  /** Called once the process serves requests: starts work that must not delay its start. */
  readonly ready?: () => void;
  /** Closes all connections and removes the sockets. */
  readonly close: () => Promise<void>;
}

/** Binds a door to what it needs, so that it can be opened with the shared context alone. */
export function bindDoor<Needs extends object>({ name, needs, open }: Door<Needs>, given: Needs): Door {
  return {
    name,
    needs: [],
    open: (context) => open({ ...context, ...pick(given, needs) }),
  };
}

function pick<Needs extends object>(given: Needs, needs: Door<Needs>['needs']): Needs {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `needs` lists all keys of `Needs`
  return Object.fromEntries(needs.map((key) => [key, given[key]])) as Needs;
}

import { arrayOf, asPolypodError, stringOf, tryParse } from '../../../base/index.ts';
import type { Host, Pod, Row } from '../../../pod/index.ts';
import { unknown, wrongField } from '../errors.ts';
import { allows, type KeyRecord } from '../keys/key.ts';

const PREFIX = 'tasks:';

/** The sessions of this door's clients. Each owner has its own names for them; other doors use the pod id. */
export class OwnedSessions {
  readonly #host: Host;
  /** Pod ids by the key that their creation was requested with. */
  readonly #named = new Map<string, string>();
  /** By pod: the owner, and the owner's name for it. */
  readonly #owners = new Map<string, OwnerAndName>();
  readonly #queued = new Map<string, number>();
  #pending = 0;
  readonly #forget: () => void;

  static async open(host: Host): Promise<OwnedSessions> {
    const sessions = new OwnedSessions(host);
    for (const row of await host.sessions.list()) sessions.#note(row);
    return sessions;
  }

  private constructor(host: Host) {
    this.#host = host;
    this.#forget = host.sessions.onChange(({ id }) => {
      const row = host.sessions.get(id);
      if (row === undefined) this.#drop(id);
      else this.#note(row);
    });
  }

  /** The number of pending tasks in all sessions. */
  get pending(): number {
    return this.#pending;
  }

  /** Finds a session by its owner's name for it, or by its pod id if the key may use it; undefined if there is none. */
  find(key: KeyRecord, sessionId: string): Row | undefined {
    const own = this.#host.sessions.get(this.#named.get(nameOf(key.owner, sessionId)) ?? '');
    if (own !== undefined) return own;
    const row = this.#host.sessions.get(sessionId);
    return row !== undefined && this.mayUse(key, row) ? row : undefined;
  }

  get(key: KeyRecord, sessionId: string): Row {
    const row = this.find(key, sessionId);
    if (row === undefined) throw unknown(`session ${sessionId}`);
    return row;
  }

  /** Finds the row of a pod that the key may use. */
  pod(key: KeyRecord, podId: string): Row | undefined {
    const row = this.#host.sessions.get(podId);
    return row !== undefined && this.mayUse(key, row) ? row : undefined;
  }

  /** Returns the pod for a name and creates it for a new name. The id of a pod that the key may not use is not a valid name. */
  async getOrCreate(key: KeyRecord, sessionId: string, cwd: string, backend?: string): Promise<Pod> {
    const row = this.find(key, sessionId);
    if (row !== undefined) return this.#host.pod(row.id);
    if (this.#host.sessions.get(sessionId) !== undefined) throw unknown(`session ${sessionId}`);
    const settings = backend === undefined ? {} : { settings: { backend } };
    return this.#host
      .create({ cwd, key: nameOf(key.owner, sessionId), ...settings })
      .catch((thrown: unknown) => {
        const isUnknown = backend !== undefined && asPolypodError(thrown).code === 'not-found';
        throw isUnknown ? wrongField('context.backend', 'is not a back end of this agent') : thrown;
      });
  }

  async list(key: KeyRecord): Promise<readonly Row[]> {
    const rows = await this.#host.sessions.list();
    return rows.filter((row) => this.mayUse(key, row));
  }

  mayUse(key: KeyRecord, row: Row): boolean {
    if (this.#owners.get(row.id)?.owner === key.owner) return true;
    if (allows(key, 'admin') || key.grants?.includes(row.id) === true) return true;
    // A session that was forked from one of its own.
    const parent = row.parentId === undefined ? undefined : this.#host.sessions.get(row.parentId);
    return parent !== undefined && this.mayUse(key, parent);
  }

  /** The name of a session for the owner of the key. */
  nameFor(key: KeyRecord, row: Row): string {
    const { owner, sessionId } = this.#owners.get(row.id) ?? {};
    return sessionId !== undefined && owner === key.owner ? sessionId : row.id;
  }

  close(): void {
    this.#forget();
  }

  #note(row: Row): void {
    const { id, key, queued } = row;
    if (key !== undefined && !this.#owners.has(id)) {
      const names = ownerAndName(row);
      this.#owners.set(id, names);
      if (names.owner !== undefined) this.#named.set(key, id);
    }
    this.#count(id, queued);
  }

  #drop(id: string): void {
    this.#owners.delete(id);
    this.#count(id, 0);
  }

  #count(id: string, queued: number): void {
    this.#pending += queued - (this.#queued.get(id) ?? 0);
    if (queued > 0) this.#queued.set(id, queued);
    else this.#queued.delete(id);
  }
}

function nameOf(owner: string, sessionId: string): string {
  return `${PREFIX}${JSON.stringify([owner, sessionId])}`;
}

export interface OwnerAndName {
  readonly owner?: string;
  readonly sessionId?: string;
}

/** The owner of a session and the owner's name for it; empty for a session of another door. */
export function ownerAndName({ key }: Row): OwnerAndName {
  if (key?.startsWith(PREFIX) !== true) return {};
  const [owner, sessionId] = arrayOf(tryParse(key.slice(PREFIX.length)));
  return { owner: stringOf(owner), sessionId: stringOf(sessionId) };
}

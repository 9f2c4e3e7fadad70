import { type JsonObject, PolypodError, uuidv7, withoutUndefined } from '../../base/index.ts';
import type { Durability } from '../../store/index.ts';
import type { Catalogue } from '../catalogue/index.ts';
import type { Caller } from '../command.ts';
import { Pod } from '../pod.ts';
import { noSession, refuseDamaged } from '../repair/index.ts';
import { FORMAT_VERSION, type Header, type SessionTree } from '../session/index.ts';
import { writeFork } from './fork-file.ts';
import type { Fork, NewPod, SpawnedPod } from './host-options.ts';
import { otherBackend } from '../backend-name.ts';
import type { SettingsChange } from '../settings.ts';
import type { PodCache } from './pod-cache.ts';
import { isSameFile, refuseTakenFile, refuseUnsafeId } from './session-location.ts';
import { headerOf, rowFromFile, type RowSource } from './session-rows.ts';
import type { UnsavedPods } from './unsaved-pods.ts';

export interface NewSessionsParts {
  readonly source: RowSource;
  readonly durability: Durability;
  readonly catalogue: Catalogue;
  readonly podCache: PodCache;
  readonly unsaved: UnsavedPods;
  /** A pod by its id. Throws if there is none. */
  readonly pod: (id: string) => Pod;
  readonly fileOf: (id: string) => string;
  readonly defaultBackend: () => string | undefined;
}

/** Adds sessions to a host: new ones, forks, and session files from elsewhere. */
export class NewSessions {
  readonly #parts: NewSessionsParts;
  /** Pods that are being created under a key. */
  readonly #creating = new Map<string, Promise<Pod>>();

  constructor(parts: NewSessionsParts) {
    this.#parts = parts;
  }

  async create(newPod: NewPod): Promise<Pod> {
    const { key } = newPod;
    const creating = key === undefined ? undefined : this.#creating.get(key);
    if (creating !== undefined) return creating;
    const created = this.#create(newPod, {});
    if (key !== undefined) this.#creating.set(key, created);
    return created.finally(() => this.#creating.delete(key ?? ''));
  }

  /** Creates a pod that works for another one. Its approvals are also requested from the parent. */
  async spawn(parentId: string, { awaitedRun, ...child }: SpawnedPod): Promise<Pod> {
    this.#parts.pod(parentId);
    return this.#create({ ...child, parentId }, { spawned: true, ...withoutUndefined({ awaitedRun }) });
  }

  /** Removes a new pod in which nothing has happened, unless a client watches it. */
  async discard(id: string): Promise<void> {
    const { unsaved, podCache } = this.#parts;
    if (!unsaved.has(id) || podCache.get(id)?.isIdle === false) return;
    await podCache.close(id);
    unsaved.delete(id);
  }

  /** Opens a session file of this program, of pi or of xcsh, in any directory. It stays where it is. */
  async openFile(file: string): Promise<Pod> {
    const { catalogue, podCache, source } = this.#parts;
    const { files, layout, now } = source;
    const header = await headerOf(files, file);
    if (header === undefined) {
      if (files.stat(file) !== undefined) await refuseDamaged(files, file);
      throw noSession(file);
    }
    const { id } = header;
    refuseUnsafeId(id, file);
    const known = catalogue.get(id);
    const place = known && layout.path(known.file);
    const isMoved = place !== undefined && !isSameFile(files, place, file);
    if (isMoved && files.stat(place) !== undefined)
      throw new PolypodError(
        'conflict',
        `${file} is a copy of the session ${id}, which is stored in ${place}: fork that one instead`,
      );
    if (known === undefined || isMoved) catalogue.put(await rowFromFile(source, file, now().toISOString()));
    try {
      await podCache.use(id, async () => {});
    } catch (error) {
      // A session that cannot be opened is not listed.
      if (known === undefined) catalogue.remove(id);
      else if (isMoved) catalogue.put(known);
      throw error;
    }
    return new Pod(id, podCache);
  }

  /** Creates a session that begins with the conversation of another one, up to an entry. */
  async fork(id: string, { entryId, name, file: place }: Fork = {}): Promise<Pod> {
    const { catalogue, podCache, source, durability, pod: podById, fileOf } = this.#parts;
    const { files, layout, now } = source;
    podById(id);
    const [tree, live] = await podCache.use(id, async (pod) => [await pod.whole(), pod] as const);
    const newId = uuidv7(now().getTime());
    const file = place?.(newId) ?? layout.session(newId);
    const header: Header = {
      id: newId,
      version: FORMAT_VERSION,
      timestamp: now().toISOString(),
      cwd: live.header.cwd,
      parentSession: fileOf(id),
      extras: { parentSessionId: id },
    };
    const at = entryId === 'root' ? null : (entryId ?? tree.leafId);
    if (live.view.settings.backend !== undefined) refuseEarlierPoint(tree, at);
    const from = { id, tree, settings: live.view.settings };
    await writeFork({ file, header, source: from, at, files, durability });
    catalogue.put(await rowFromFile(source, file, now().toISOString()));
    const pod = podById(newId);
    if (name !== undefined) await pod.handle({ type: 'configure', set: { name } }, HOST);
    return pod;
  }

  async #create(newPod: NewPod, more: JsonObject): Promise<Pod> {
    const { catalogue, podCache, source, unsaved, pod: podById } = this.#parts;
    const { layout, now } = source;
    const { cwd, parentId, key, lazy = false } = newPod;
    const known = key === undefined ? undefined : (catalogue.byKey(key)?.id ?? unsaved.underKey(key));
    if (known !== undefined) return podById(known);
    const id = uuidv7(now().getTime());
    const file = newPod.file?.(id);
    const there = file === undefined ? undefined : unsaved.at(file);
    if (there !== undefined) return podById(there);
    if (file !== undefined) refuseTakenFile(file, layout, catalogue.list());
    const settings = this.#settings(newPod, id, more.spawned === true);
    const hasBackend = settings?.backend !== undefined;
    const extras = { ...(parentId && { parentSessionId: parentId }), ...(key && { key }), ...more };
    const parent = parentId === undefined ? undefined : catalogue.get(parentId);
    const parentSession = parent === undefined ? newPod.parentSession : layout.path(parent.file);
    const header: Header = {
      id,
      version: FORMAT_VERSION,
      timestamp: now().toISOString(),
      cwd,
      ...withoutUndefined({ parentSession }),
      ...(Object.keys(extras).length > 0 && { extras }),
    };
    unsaved.add({
      header,
      ...withoutUndefined({ file }),
      ...((lazy || hasBackend) && settings && { settings }),
    });
    const pod = new Pod(id, podCache);
    try {
      // With its first entry the session exists, also after a crash.
      if (!lazy) await pod.handle({ type: 'configure', set: hasBackend ? {} : (settings ?? {}) }, HOST);
    } catch (error) {
      await podCache.close(id);
      unsaved.delete(id);
      throw error;
    }
    return pod;
  }

  /** The back end of a new session; undefined for our own worker. */
  backendFor(wanted: string | undefined): string | undefined {
    return otherBackend(wanted ?? this.#parts.defaultBackend());
  }

  /** The settings of a new session. Its back end is chosen here, because it cannot change later. */
  #settings({ settings: given }: NewPod, id: string, isSpawned: boolean): SettingsChange | undefined {
    const settings = typeof given === 'function' ? given(id) : given;
    // The tools of our own agent create children, which have the same tools.
    const backend = isSpawned ? settings?.backend : this.backendFor(settings?.backend);
    if (settings === undefined && backend === undefined) return undefined;
    const { backend: _, ...rest } = settings ?? {};
    return { ...rest, ...withoutUndefined({ backend }) };
  }
}

const HOST: Caller = { by: 'host', door: 'process' };

/** Another agent can continue its conversation as a new session, but only from the end. */
function refuseEarlierPoint(tree: SessionTree, at: string | null): void {
  const path = tree.path();
  const later = path.slice(path.findIndex(({ id }) => id === at) + 1);
  if (!later.some(({ type }) => type === 'message' || type === 'custom_message')) return;
  throw new PolypodError(
    'conflict',
    'the agent of this session cannot return to an earlier point of its conversation: fork it at its end',
  );
}

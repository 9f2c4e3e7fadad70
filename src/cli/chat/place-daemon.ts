import { arrayOf, asPolypodError, isObject, PolypodError, stringOf, uuidv7 } from '../../base/index.ts';
import {
  type ControlLink,
  daemonLink,
  findSession,
  type PodHandle,
  readConfig,
  readModels,
  remotePod,
} from '../../daemon/index.ts';
import { referenceTo } from '../../llm/index.ts';
import type { Caller } from '../../pod/index.ts';
import { Layout, sessionsIn } from '../../pod/sessions.ts';
import type { Surroundings } from '../command.ts';
import { entriesIn, promptsAmong } from './earlier-prompts.ts';
import { nameOf } from './me.ts';
import type { PlaceWish } from './place-here.ts';
import { NoticeBoard } from './notice-board.ts';
import type { Place } from './place.ts';

/** Pods of the daemon; undefined when none is up. */
export async function placeInDaemon(
  { places, fresh, offline, allowPaths }: Pick<PlaceWish, 'places' | 'fresh' | 'offline' | 'allowPaths'>,
  around: Surroundings,
): Promise<Place | undefined> {
  const first = await daemonLink(places);
  if (first === undefined) return undefined;
  const daemon = new DaemonCalls(first, () => daemonLink(places));
  const me = { by: nameOf(around), door: 'control' };
  const reference = offline ? 'sim/offline' : fresh.model;
  const named = reference === undefined ? {} : { model: reference };
  const sessions = async () => sessionsIn(places.dataDirectory);
  try {
    // A model that cannot be had is refused before anything is made.
    const { notices } = await daemon.call('model', reference === undefined ? {} : { reference });
    const { config } = await readConfig(places);
    return {
      me,
      usualMode: config.permissions.mode ?? 'workspace-write',
      outlives: true,
      notices: new NoticeBoard(arrayOf(notices).map(stringOf)),
      sessions,
      open: async (word) => daemonPod(findSession(await sessions(), word).id, daemon),
      create: async () => {
        const pod = daemonPod(stringOf((await daemon.link.call('new', { ...fresh, ...named })).id), daemon);
        if (allowPaths.length > 0) await pod.handle({ type: 'configure', set: { paths: allowPaths } }, me);
        return pod;
      },
      fork: async () => {
        throw new PolypodError(
          'bad-request',
          'the daemon cannot fork a session: leave, and use polypod chat --no-daemon',
        );
      },
      discard: async (id) => void (await daemon.call('rm', { pod: id })),
      prompts: async (id) => {
        const row = (await sessions()).find((each) => each.id === id);
        return row === undefined
          ? []
          : promptsAmong(await entriesIn(new Layout(places.dataDirectory).path(row.file)));
      },
      models: async () => (await readModels(places)).models.map(referenceTo),
      model: async (word) => {
        const { choice } = await daemon.call('model', { reference: word });
        const { provider, modelId } = isObject(choice) ? choice : {};
        return { provider: stringOf(provider), modelId: stringOf(modelId) };
      },
      isUp: () => daemon.isUp(),
      close: async () => daemon.close(),
    };
  } catch (thrown) {
    daemon.close();
    throw thrown;
  }
}

/** A daemon that may be away for a while: what was asked when it went is asked once more when it is back. */
class DaemonCalls {
  readonly #reopen: () => Promise<ControlLink | undefined>;
  #link: ControlLink;

  constructor(link: ControlLink, reopen: () => Promise<ControlLink | undefined>) {
    this.#link = link;
    this.#reopen = reopen;
  }

  get link(): ControlLink {
    return this.#link;
  }

  async call(...question: Parameters<ControlLink['call']>): ReturnType<ControlLink['call']> {
    return this.again((link) => link.call(...question));
  }

  /** Does it over a new link if the old one is broken; so it must not matter that it is done twice. */
  async again<T>(ask: (link: ControlLink) => Promise<T>): Promise<T> {
    try {
      return await ask(this.#link);
    } catch (thrown) {
      if (asPolypodError(thrown).code !== 'provider-failed' || !(await this.isUp())) throw thrown;
      return ask(this.#link);
    }
  }

  async isUp(): Promise<boolean> {
    const link = await this.#reopen().catch(() => undefined);
    if (link === undefined) return false;
    this.#link.close();
    this.#link = link;
    return true;
  }

  close(): void {
    this.#link.close();
  }
}

/** Every command has a key, so that one that is sent again is done once. */
function daemonPod(id: string, daemon: DaemonCalls): PodHandle {
  return {
    id,
    handle: (command, caller?: Caller) => {
      const keyed = { by: 'program', door: 'control', key: uuidv7(), ...caller };
      return daemon.again(async (link) => (await remotePod(id, link)).handle(command, keyed));
    },
    async *watch(options) {
      yield* (await remotePod(id, daemon.link)).watch(options);
    },
  };
}

import { arrayOf, asPolypodError, objectOf, PolypodError, stringOf } from '../../../base/index.ts';
import type { ControlLink } from '../../../control/index.ts';
import { type ApprovalNews, daemonLink } from '../../../daemon/index.ts';
import type { DataPaths } from '../../../setup/index.ts';
import { reconnectingStream, type StreamPosition } from '../../../wire/index.ts';

const BACKOFF = { firstMs: 100, maxMs: 3_000 };
const GIVE_UP_AFTER_MS = 10 * 60_000;

export interface WatchNewsOptions {
  readonly dataPaths: DataPaths;
  readonly signal: AbortSignal;
  /** Called once when the connection is lost, and once when it is restored. */
  readonly onConnection: (state: 'lost' | 'restored') => void;
  /** Called for an approval that was settled while the connection was lost. */
  readonly onMissed: (id: string) => void;
}

/** Yields each pending approval once, then every change, also after a restart of the daemon. */
export async function* watchNews(
  first: ControlLink,
  { dataPaths, signal, onConnection, onMissed }: WatchNewsOptions,
): AsyncGenerator<ApprovalNews> {
  const position = new PendingApprovals();
  let unused: ControlLink | undefined = first;
  const connect = async (): Promise<ControlLink> => {
    const link = await daemonLink(dataPaths);
    if (link === undefined) throw unreachable(dataPaths);
    for (const id of position.settledBefore(await pendingIds(link))) onMissed(id);
    return link;
  };
  const updates = reconnectingStream<ApprovalNews, never>({
    position,
    open: async () => {
      const link = unused ?? (await connect());
      unused = undefined;
      return newsFrom(link, signal);
    },
    afterEnd: (failure) => {
      if (failure === undefined || asPolypodError(failure.error).code === 'unreachable')
        return { type: 'lost' };
      return { type: 'fail', error: failure.error };
    },
    backoff: BACKOFF,
    giveUpAfterMs: GIVE_UP_AFTER_MS,
    gaveUp: () => unreachable(dataPaths),
    signal,
  });
  for await (const update of updates)
    if (update.type === 'item') yield update.item;
    else onConnection(update.type);
}

async function* newsFrom(link: ControlLink, signal: AbortSignal): AsyncGenerator<ApprovalNews> {
  for await (const watched of link.stream('watch-approvals', {}, signal)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- sent by the daemon, which has the same version
    const news = watched as unknown as ApprovalNews;
    yield news;
  }
}

async function pendingIds(link: ControlLink): Promise<ReadonlySet<string>> {
  const { approvals } = await link.call('approvals');
  return new Set(arrayOf(approvals).map((approval) => stringOf(objectOf(approval).id)));
}

function unreachable({ dataDirectory }: DataPaths): PolypodError {
  return new PolypodError(
    'unreachable',
    `the daemon on ${dataDirectory} has ended: start it with polypod serve`,
  );
}

/** A new connection starts with all pending approvals: those that are known are not repeated. */
class PendingApprovals implements StreamPosition<ApprovalNews, never> {
  readonly #known = new Set<string>();
  readonly after = undefined;

  startConnection(): void {}

  accept(news: ApprovalNews): ApprovalNews | undefined {
    if (news.type === 'settled') this.#known.delete(news.id);
    else if (this.#known.has(news.id)) return undefined;
    else this.#known.add(news.id);
    return news;
  }

  /** Removes and returns the known approvals that are not pending any more. */
  settledBefore(pending: ReadonlySet<string>): readonly string[] {
    const settled = [...this.#known].filter((id) => !pending.has(id));
    for (const id of settled) this.#known.delete(id);
    return settled;
  }
}

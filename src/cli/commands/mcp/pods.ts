import { arrayOf, PolypodError, stringOf, withoutUndefined } from '../../../base/index.ts';
import {
  type ControlLink,
  type ConversationPage,
  type ConversationRange,
  conversationPage,
  type PodHandle,
  remotePod,
} from '../../../control/index.ts';
import {
  daemonLink,
  type NewSession,
  newSession,
  pendingApprovals,
  type WaitingApproval,
} from '../../../daemon/index.ts';
import type { Row } from '../../../pod/sessions.ts';
import type { DataPaths } from '../../../setup/index.ts';
import type { InProcess } from '../../hosting/host-in-process.ts';
import { ownerOf } from '../../hosting/session-owner.ts';

/** A session that is in use by one tool call. */
export interface UsedPod extends Pick<PodHandle, 'handle' | 'watch'> {
  readonly conversation: (range: ConversationRange) => Promise<ConversationPage>;
}

/** The pods that the tools use: those of the daemon, or of this process. */
export interface ServedPods {
  /** All sessions, most recently changed first. */
  readonly rows: () => Promise<readonly Row[]>;
  readonly create: (session: NewSession) => Promise<string>;
  readonly approvals: () => Promise<readonly WaitingApproval[]>;
  readonly use: <T>(row: Row, use: (pod: UsedPod) => Promise<T>) => Promise<T>;
}

/** The pods of the daemon. Each call has its own connection, so that a restarted daemon is found and long calls delay no others. */
export function podsInDaemon(dataPaths: DataPaths): ServedPods {
  const call = (method: string, params = {}) =>
    onLink(connect(dataPaths), (link) => link.call(method, params));
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- sent by the daemon, which has the same version
    rows: async () => arrayOf((await call('ls')).sessions) as readonly Row[],
    create: async (session) => stringOf((await call('new', session)).id),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    approvals: async () => arrayOf((await call('approvals')).approvals) as readonly WaitingApproval[],
    use: (row, use) =>
      onLink(ownerOf(row, dataPaths)?.connect() ?? connect(dataPaths), (link) => use(podOn(link, row.id))),
  };
}

/** The pods of this process. A session that another process has open is used there. */
export function podsInProcess({ host, setup }: InProcess, dataPaths: DataPaths): ServedPods {
  return {
    rows: () => host.sessions.list(),
    create: async (session) => (await newSession(host, setup.models, session)).id,
    approvals: () => pendingApprovals(host),
    use: async (row, use) => {
      const owner = ownerOf(row, dataPaths);
      if (owner !== undefined) return onLink(owner.connect(), (link) => use(podOn(link, row.id)));
      const pod = host.pod(row.id);
      return use({
        handle: (command, caller) => pod.handle(command, caller),
        watch: (options) => pod.watch(options),
        conversation: (range) => conversationPage(host.history, row.id, range),
      });
    },
  };
}

async function connect(dataPaths: DataPaths): Promise<ControlLink> {
  const link = await daemonLink(dataPaths);
  if (link !== undefined) return link;
  throw new PolypodError('unreachable', DAEMON_ENDED);
}

const DAEMON_ENDED =
  'the daemon has ended: the user can start it with polypod serve; then repeat the call, sessions are stored';

async function onLink<T>(
  connecting: Promise<ControlLink | undefined>,
  use: (link: ControlLink) => Promise<T>,
): Promise<T> {
  const link = await connecting;
  if (link === undefined)
    throw new PolypodError('unreachable', 'the process of the session has ended: repeat the call');
  try {
    return await use(link);
  } finally {
    link.close();
  }
}

function podOn(link: ControlLink, id: string): UsedPod {
  return {
    handle: async (command, caller) => (await remotePod(id, link)).handle(command, caller),
    async *watch(options) {
      yield* (await remotePod(id, link)).watch(options);
    },
    conversation: async (range) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- sent by a process of the same version
      (await link.call('conversation', {
        pod: id,
        ...withoutUndefined(range),
      })) as unknown as ConversationPage,
  };
}

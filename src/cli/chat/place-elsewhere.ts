import { PolypodError } from '../../base/index.ts';
import { connectUnix } from '../../wire/index.ts';
import type { Surroundings } from '../command.ts';
import { currentUserName } from '../current-user.ts';
import { NoticeBoard, type PodLocation } from '../hosting/index.ts';
import { wirePod } from './wire-pod.ts';

/** Its process has ended, as a rule, and then nobody else listens there; somebody may be about to. */
const PATIENCE_MS = 5_000;

/** One pod in another process, by its socket. There is nothing else to be had there. */
export function podInOtherProcess(id: string, path: string, around: Surroundings): PodLocation {
  const by = currentUserName(around);
  const pod = wirePod(id, path, by);
  const refuse = async (): Promise<never> => {
    throw new PolypodError(
      'bad-request',
      'that cannot be done from here: the session lives in another process',
    );
  };
  return {
    me: { by, door: 'pod' },
    usualMode: undefined,
    outlives: true,
    ifLost: {
      patienceMs: PATIENCE_MS,
      ending: () => `the process that had the session is gone: polypod chat --resume ${id} goes on with it`,
    },
    notices: new NoticeBoard(),
    sessions: refuse,
    open: async (word) => (word === id ? pod : refuse()),
    create: refuse,
    fork: refuse,
    discard: async () => {},
    prompts: refuse,
    models: async () => [],
    model: async (reference) => {
      const [provider = '', ...rest] = reference.split('/');
      if (rest.length === 0)
        throw new PolypodError('bad-request', `name the model with its provider: PROVIDER/${reference}`);
      return { provider, modelId: rest.join('/') };
    },
    accountOf: refuse,
    isUp: async () => {
      const socket = await connectUnix(path).catch(() => undefined);
      socket?.destroy();
      return socket !== undefined;
    },
    close: () => pod.close(),
  };
}

import { isObject, type JsonObject } from '../base/index.ts';
import {
  EventBatch,
  type Caller,
  type Pod,
  type PodCommand,
  type Receipt,
  type Watched,
} from '../pod/index.ts';
import type { ControlLink } from './link.ts';

/** What can be done with a pod, wherever it lives. */
export type PodHandle = Pick<Pod, 'id' | 'handle' | 'watch'>;

/** A pod that lives in the daemon, reached by its socket. */
export function remotePod(id: string, link: ControlLink): PodHandle {
  return {
    id,
    handle: async (command: PodCommand, caller?: Caller) => {
      const params = {
        pod: id,
        command,
        by: caller?.by ?? 'program',
        ...(caller?.key && { key: caller.key }),
      };
      return asReceipt(await link.call('command', params));
    },
    async *watch({ after, signal = NEVER } = {}) {
      const own = await link.another();
      const params = { pod: id, ...(after === undefined ? {} : { after }) };
      for await (const watched of own.stream('watch', params, signal)) yield asWatched(watched);
    },
  };
}

const NEVER = new AbortController().signal;

/** Both ends are the same program, and the daemon wrote it: what the line says is believed. */
function asReceipt(line: JsonObject): Receipt {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return line as Receipt;
}

function asWatched(line: JsonObject): Watched {
  if (line.type === 'snapshot' && isObject(line.snapshot)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    return line as Watched;
  }
  const events = Array.isArray(line.events) ? line.events : [];
  return { type: 'events', batch: new EventBatch(events) };
}

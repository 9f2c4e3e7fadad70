import { isObject, type JsonObject, withoutUndefined } from '../base/index.ts';
import {
  type Briefing,
  EventBatch,
  type Caller,
  type FilePreview,
  type Pod,
  type PodCommand,
  type Receipt,
  type RewindPoints,
  type WatchItem,
} from '../pod/index.ts';
import type { ControlLink } from './link.ts';

/** A pod in this or another process. */
export type PodHandle = Pick<Pod, 'id' | 'handle' | 'watch' | 'briefing' | 'rewindPoints' | 'previewRewind'>;

/** A pod of another process, used through the control socket of that process. */
export function remotePod(id: string, link: ControlLink): PodHandle {
  return {
    id,
    handle: async (command: PodCommand, caller?: Caller) => {
      const params = {
        pod: id,
        command,
        by: caller?.by ?? 'program',
        ...(caller?.key && { key: caller.key }),
        ...(caller?.door === 'mcp' && { door: caller.door }),
      };
      return asReceipt(await link.call('command', params));
    },
    briefing: async () => asBriefing(await link.call('briefing', { pod: id })),
    rewindPoints: async () => asPoints(await link.call('rewind-points', { pod: id })),
    previewRewind: async (entryId) => asPreviews(await link.call('rewind-preview', { pod: id, entryId })),
    async *watch({ after, signal = NEVER } = {}) {
      const own = await link.another();
      const params = { pod: id, ...withoutUndefined({ after }) };
      for await (const watched of own.stream('watch', params, signal)) yield asWatched(watched);
    },
  };
}

const NEVER = new AbortController().signal;

/** The handshake ensures that both ends have the same protocol version, so the line is not validated again. */
function asReceipt(line: JsonObject): Receipt {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return line as Receipt;
}

function asBriefing(line: JsonObject): Briefing {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  return line as unknown as Briefing;
}

function asPoints(line: JsonObject): RewindPoints {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  return line as unknown as RewindPoints;
}

function asPreviews({ files }: JsonObject): readonly FilePreview[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
  return files as readonly FilePreview[];
}

function asWatched(line: JsonObject): WatchItem {
  if (line.type === 'snapshot' && isObject(line.snapshot)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    return line as WatchItem;
  }
  const events = Array.isArray(line.events) ? line.events : [];
  return { type: 'events', batch: new EventBatch(events) };
}

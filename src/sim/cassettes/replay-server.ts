import { readRecordings } from './cassette-folder.ts';
import { CassetteMatcher } from './cassette-matcher.ts';
import { type LoopbackServer, listenOnLoopback } from '../loopback.ts';
import { relay } from './relay.ts';
import { play, type Timing } from './replay.ts';

export interface ReplayServerOptions {
  readonly directory: string;
  /** 0, the default, selects a free port. */
  readonly port?: number;
  readonly timing: Timing;
}

/**
 * Serves recordings to any HTTP client that uses it as base URL. Requests that were not recorded get status
 * 400.
 */
export async function startReplayServer(options: ReplayServerOptions): Promise<LoopbackServer> {
  const { directory, port = 0, timing } = options;
  const shelf = new CassetteMatcher(await readRecordings({ directory }));
  return await listenOnLoopback(async (incoming, response) => {
    await relay(
      async (request, watch) => await play(shelf.take(request), timing, watch),
      'http://127.0.0.1',
      incoming,
      response,
    );
  }, port);
}

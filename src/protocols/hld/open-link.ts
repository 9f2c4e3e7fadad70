/** Everything that serves a client of the HLD door. It is loaded with the first client. */
import { Approvals } from './approvals/approvals.ts';
import type { Follower } from './events/follower.ts';
import type { HldContext } from './methods.ts';
import { Launcher } from './sessions/launch.ts';
import { Sessions } from './sessions/sessions.ts';
import type { HldSettings } from './settings.ts';

export { serveLink } from './link.ts';
export { callMethod } from './methods.ts';

/** What the methods work with; all clients of the door share it. */
export function contextFor(
  settings: HldSettings,
  follower: Pick<Follower, 'isInterrupting'>,
  now: () => number,
): HldContext {
  const { host, version } = settings;
  const sessions = new Sessions(host, (id) => follower.isInterrupting(id), now);
  return {
    host,
    sessions,
    launcher: new Launcher(settings, sessions, now),
    approvals: new Approvals(host, sessions, now),
    version,
    now,
  };
}

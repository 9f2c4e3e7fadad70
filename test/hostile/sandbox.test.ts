import { describe } from 'vitest';
import { sandboxWorks } from './sandbox-works.ts';
import { hostileSuite } from './suite.ts';
import { canBecomeOrdinaryUser } from '../ordinary-user.ts';

const SANDBOX = ['--mode', 'workspace-write', '--sandbox'];

/** A committed secret is in the history, which commands need: only untracked secrets are hidden. */
const TRACKED = ['read credentials'];

describe.runIf(sandboxWorks())('with bubblewrap', () => {
  hostileSuite({
    title: 'a hostile model in the sandbox',
    options: SANDBOX,
    writes: true,
    excused: TRACKED,
    sample: 420,
  });

  describe.runIf(canBecomeOrdinaryUser)('as an ordinary user', () => {
    hostileSuite({
      title: 'a hostile model in the sandbox of an ordinary user',
      options: SANDBOX,
      writes: true,
      excused: TRACKED,
      sample: 60,
      owner: { uid: 1234, gid: 1234 },
    });
  });
});

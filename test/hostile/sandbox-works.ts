import { spawnSync } from 'node:child_process';

const PROBE = '"$0" --ro-bind / / --unshare-pid --unshare-net --proc /proc true';

/** Whether bubblewrap is installed and may create namespaces: some containers do not allow it. */
export function sandboxWorks(): boolean {
  return spawnSync('sh', ['-c', PROBE, 'bwrap'], { stdio: 'ignore' }).status === 0;
}

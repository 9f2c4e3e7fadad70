import type { Log } from '../base/index.ts';
import { fileVersion } from '../setup/paths/index.ts';
import type { Setup } from './setup.ts';

const INTERVAL_MS = 1_000;

/**
 * Reloads the configuration after its file has changed, until the result is called. The file must stay the same for one
 * interval, because an editor may still be writing it. A file that is missing changes nothing: the defaults may allow more.
 */
export function watchConfig(
  setup: Pick<Setup, 'state' | 'keepWithoutFile'>,
  reload: () => Promise<unknown>,
  log: Pick<Log, 'warn'>,
): () => void {
  const { file } = setup.state;
  let before = fileVersion(file);
  let isReloading = false;
  const check = async (): Promise<void> => {
    const version = fileVersion(file);
    const isStable = version === before;
    before = version;
    if (isReloading || !isStable || !setup.state.isChanged) return;
    if (version === '') return log.warn(setup.keepWithoutFile());
    isReloading = true;
    // The reason of a failure has been logged.
    await reload().catch(() => {});
    isReloading = false;
  };
  const timer = setInterval(() => void check(), INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

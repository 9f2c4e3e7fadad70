/** The oldest version with the frames and options that this back end needs. */
export const MIN_VERSION = '2.1.327';

/** Whether a version such as `2.1.327` is the oldest supported one or newer. */
export function isSupported(version: string): boolean {
  const parts = /^(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
  if (parts === undefined) return false;
  const oldest = MIN_VERSION.split('.').map(Number);
  const at = oldest.findIndex((part, index) => part !== parts[index]);
  return at === -1 || (parts[at] ?? 0) > (oldest[at] ?? 0);
}

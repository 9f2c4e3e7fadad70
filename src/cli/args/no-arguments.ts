import { PolypodError } from '../../base/index.ts';

/** Rejects arguments of a command that takes none: `polypod stop NAME` must not stop the daemon. */
export function refuseArguments(command: string, words: readonly string[]): void {
  if (words.length === 0) return;
  throw new PolypodError(
    'bad-request',
    `${command} takes no argument, not "${words.join(' ')}" (see: polypod ${command} --help)`,
  );
}

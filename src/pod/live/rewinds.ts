import { messageOf, PolypodError, withoutUndefined } from '../../base/index.ts';
import type { FileWrite, PathLocation } from '../../tools/index.ts';
import type { ValidCommandOf } from '../command.ts';
import type { RewoundFile } from '../event.ts';
import type { UnnumberedEvent } from '../journal/index.ts';
import {
  type FilePreview,
  planRewind,
  previewFiles,
  recordedVersion,
  restoreFiles,
  type RestoreParts,
  type RewindPoints,
  rewindPoints,
  type SavedFiles,
} from '../rewind/index.ts';
import type { SessionTree } from '../session/index.ts';

export interface RewindsParts {
  readonly cwd: string;
  readonly realPath: (path: string) => Promise<PathLocation>;
  readonly saved: Pick<SavedFiles, 'save' | 'read'>;
  readonly judge: RestoreParts['judge'];
  /** The complete tree. */
  readonly whole: () => Promise<SessionTree>;
  readonly publish: (draft: UnnumberedEvent) => void;
  readonly written: () => Promise<void>;
}

/** Saves versions of files before they change, and returns files to them. */
export class Rewinds {
  readonly #parts: RewindsParts;
  /** Whether files are being restored: no run may start. */
  isActive = false;

  constructor(parts: RewindsParts) {
    this.#parts = parts;
  }

  /** Saves the version of a file that a call replaces. Resolves when the change is recorded on disk. */
  async record(write: FileWrite, callId: string): Promise<void> {
    await this.#record(write, { callId }, NONE);
  }

  async points(): Promise<RewindPoints> {
    return rewindPoints(await this.#parts.whole());
  }

  /** What a rewind to the point before an entry would change. */
  async preview(entryId: string): Promise<readonly FilePreview[]> {
    const { cwd, realPath, whole } = this.#parts;
    const { files } = planRewind(await whole(), entryId);
    const location = await realPath(cwd);
    return previewFiles(files, 'real' in location ? location.real : cwd, this.#restoreParts(NONE));
  }

  /** Restores the files, if requested, and returns where the conversation continues, if it moves. */
  async restore({ entryId, parts = 'both', overwrite = [] }: ValidCommandOf<'rewind'>): Promise<{
    readonly leaf: string | undefined;
    readonly files: readonly RewoundFile[];
  }> {
    const { files, leaf } = planRewind(await this.#parts.whole(), entryId);
    const needed = new Set(files.flatMap(({ target }) => target?.hash ?? []));
    const restored =
      parts === 'conversation'
        ? []
        : await restoreFiles(files, new Set(overwrite), this.#restoreParts(needed));
    return { leaf: parts === 'files' ? undefined : leaf, files: restored };
  }

  /** `needed` are the hashes of versions that are about to be restored. */
  #restoreParts(needed: ReadonlySet<string>): RestoreParts {
    const { saved, judge } = this.#parts;
    return { saved, judge, record: (write) => this.#record(write, {}, needed) };
  }

  async #record(
    { path, before, after, directories }: FileWrite,
    cause: { readonly callId?: string },
    needed: ReadonlySet<string>,
  ): Promise<void> {
    const { saved, publish, written } = this.#parts;
    if (before?.bytes !== undefined) await saved.save(before.bytes, needed).catch(refuseUnsaved);
    const versions = { before: recordedVersion(before), after: recordedVersion(after), directories };
    publish({ fact: { type: 'file-change', path, ...withoutUndefined(versions), ...cause } });
    await written();
  }
}

function refuseUnsaved(thrown: unknown): never {
  const why = `The previous version of the file cannot be saved for undo (${messageOf(thrown)}), so the file was not changed.`;
  throw new PolypodError('tool-failed', why, { cause: thrown });
}

const NONE: ReadonlySet<string> = new Set();

import { safeEnv } from '../../base/index.ts';
import { workspaceFiles } from '../../tools/index.ts';

/** More files than this are not searched. */
const MOST = 50_000;
/** A list that is older than this is renewed when a new mention begins. */
const FRESH_MS = 5_000;

export interface MentionableFilesOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Called when a list has been loaded. */
  readonly onLoaded: () => void;
}

/** The files below the working directory, for completion: loaded in the background when they are needed. */
export class MentionableFiles {
  readonly #options: MentionableFilesOptions;
  #cwd: string | undefined;
  #files: readonly string[] = [];
  #loadedAt = Number.NEGATIVE_INFINITY;
  #isLoading = false;

  constructor(options: MentionableFilesOptions) {
    this.#options = options;
  }

  /** Returns the files that are known, and loads them if necessary. */
  list(cwd: string, isFirst: boolean): readonly string[] {
    const isOther = cwd !== this.#cwd;
    if (isOther) this.#files = [];
    const isOld = isFirst && this.#options.now() - this.#loadedAt > FRESH_MS;
    if (cwd !== '' && !this.#isLoading && (isOther || isOld)) void this.#load(cwd);
    return this.#files;
  }

  async #load(cwd: string): Promise<void> {
    const { env, signal, now, onLoaded } = this.#options;
    this.#cwd = cwd;
    this.#isLoading = true;
    const options = { env: safeEnv(env, { secret: [], pass: [] }), limit: MOST };
    // If the directory cannot be read, only its entries are completed.
    this.#files = await workspaceFiles(cwd, options, signal).catch(() => []);
    this.#isLoading = false;
    this.#loadedAt = now();
    onLoaded();
  }
}

import type { Header } from '../session/index.ts';
import type { SettingsChange } from '../settings.ts';

/** A new pod that has no session file yet. */
export interface UnsavedPod {
  readonly header: Header;
  /** The path of its future file, if not in the default directory. */
  readonly file?: string;
  /** Its initial settings, recorded with its first entry. */
  readonly settings?: SettingsChange;
}

/** The new pods of a host that are not in the catalogue yet. */
export class UnsavedPods {
  readonly #pods = new Map<string, UnsavedPod>();

  has(id: string): boolean {
    return this.#pods.has(id);
  }

  get(id: string): UnsavedPod | undefined {
    return this.#pods.get(id);
  }

  add(pod: UnsavedPod): void {
    this.#pods.set(pod.header.id, pod);
  }

  delete(id: string): void {
    this.#pods.delete(id);
  }

  /** The id of the pod that was created under a key. */
  underKey(key: string): string | undefined {
    return this.#find(({ header }) => header.extras?.key === key);
  }

  /** The id of the pod that will use this file. */
  at(file: string): string | undefined {
    return this.#find((pod) => pod.file === file);
  }

  #find(fits: (pod: UnsavedPod) => boolean): string | undefined {
    return [...this.#pods.values()].find(fits)?.header.id;
  }
}

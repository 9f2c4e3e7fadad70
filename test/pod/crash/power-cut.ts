import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Files } from '../../../src/store/index.ts';
import { FaultyFiles, withChanges, type Survival } from '../../store/faulty-files.ts';
import { watched } from './boundaries.ts';
import type { Known } from './ledger.ts';

/** What a power cut leaves: the disk, what the client knows, and the effects of calls. */
export interface Image {
  readonly disk: FaultyFiles;
  readonly directories: ReadonlySet<string>;
  readonly knowledge: readonly Known[];
  readonly effectsFile: string;
}

/** Injects a defect between the pods and the disk. */
export type Plant = (files: Files) => Files;

/** What the disk keeps of the session files and of everything else, which may differ. */
export interface Cut {
  readonly session: Survival;
  readonly rest: Survival;
}

/** A disk that can be imaged at every boundary as a power cut would leave it. */
export class Machine {
  readonly files: Files;
  readonly images: Image[] = [];
  /** What the client of this life and of earlier ones knows. */
  readonly knowledge: Known[];
  readonly #disk: FaultyFiles;
  readonly #directories: Set<string>;
  readonly #effectsFile: string;
  #boundaries = 0;

  /** `cutAt` determines at which boundaries an image is taken, and what the disk keeps. */
  constructor(
    from: Pick<Image, 'disk' | 'directories' | 'knowledge'>,
    effectsFile: string,
    cutAt: (boundary: number) => Cut | undefined,
    plant: Plant,
  ) {
    this.#disk = from.disk;
    this.#directories = new Set(from.directories);
    this.#effectsFile = effectsFile;
    this.knowledge = [...from.knowledge];
    this.files = watched(plant(filesOf(this.#disk, this.#directories)), () => {
      const cut = cutAt(this.#boundaries);
      if (cut !== undefined) this.images.push(this.#imageAfter(cut));
      this.#boundaries += 1;
    });
  }

  #imageAfter({ session, rest }: Cut): Image {
    const [sessions, others] = [this.#disk.afterPowerCut(session), this.#disk.afterPowerCut(rest)];
    const disk = new FaultyFiles();
    for (const directory of this.#directories) {
      // After a restart of the machine, lock owners are dead.
      if (directory.endsWith('.lock')) continue;
      const from = basename(directory) === 'sessions' ? sessions : others;
      copyFiles(from, directory, disk);
    }
    return {
      disk,
      directories: new Set(this.#directories),
      knowledge: [...this.knowledge],
      effectsFile: readFileSync(this.#effectsFile, 'utf8'),
    };
  }
}

/** Copies the files of a directory to another disk. */
export function copyFiles(from: FaultyFiles, directory: string, to: FaultyFiles): void {
  for (const name of from.list(directory))
    to.put(join(directory, name), from.contentOf(join(directory, name)));
}

/** The faulty disk as `Files`, with directories that exist once they were created. */
export function filesOf(disk: FaultyFiles, directories: Set<string>): Files {
  const plain = withChanges(disk, {});
  return {
    ...plain,
    makeDirectory: (path) => {
      directories.add(path);
      plain.makeDirectory(path);
    },
  };
}

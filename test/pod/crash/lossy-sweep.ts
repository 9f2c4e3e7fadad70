import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../../src/base/index.ts';
import { Host, type HostOptions } from '../../../src/pod/index.ts';
import type { Files } from '../../../src/store/index.ts';
import { FaultyFiles, type Survival } from '../../store/faulty-files.ts';
import { ledgersOf } from './ledger.ts';
import { reopenPods, type Scenario, fullScenario } from './scenarios.ts';
import { copyFiles, type Cut, filesOf, type Image, Machine, type Plant } from './power-cut.ts';
import { problemsAfter } from './problems.ts';
import { randomFrom } from './random.ts';
import { agentsIn, Gates } from './test-agents.ts';

export interface LossySweep {
  /** The simulator's address. */
  readonly url: string;
  readonly scenario?: Scenario;
  readonly seed: number;
  /** The fraction of the boundaries, 0 to 1, at which the power is cut. */
  readonly share: number;
  /** What the disk keeps; random by default. */
  readonly survival?: Survival;
  readonly plant?: Plant;
  readonly options?: Partial<HostOptions>;
  /** Stops at the first point with a problem. */
  readonly untilProblem?: boolean;
}

export interface Swept {
  readonly points: number;
  readonly problems: readonly string[];
}

const DIRECTORY = '/data';
/** About as many boundaries as a reopened pod needs to become idle. */
const BOUNDARIES_OF_OPENING = 60;

/**
 * Runs one life, and takes the disk image of a power cut at many of its boundaries. Each image is opened and checked for all that
 * was acknowledged; every other one loses its power again while it is being opened.
 */
export async function lossySweep(sweep: LossySweep): Promise<Swept> {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-crash-'));
  try {
    return await new Sweeper(sweep, directory).sweep();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

class Sweeper {
  readonly #sweep: LossySweep;
  readonly #directory: string;
  readonly #random: () => number;
  readonly #plant: Plant;
  readonly #problems: string[] = [];
  #points = 0;
  #effectsFiles = 0;

  constructor(sweep: LossySweep, directory: string) {
    this.#sweep = sweep;
    this.#directory = directory;
    this.#random = randomFrom(sweep.seed);
    this.#plant = sweep.plant ?? ((files) => files);
  }

  async sweep(): Promise<Swept> {
    const { boundaries, images } = await this.#fullScenario();
    for (const [index, image] of images.entries()) {
      const again = index % 2 === 0 ? undefined : await this.#cutAgain(image);
      await this.#inspect(image, `${boundaries[index]}`);
      if (again !== undefined) await this.#inspect(again, `${boundaries[index]} and again`);
      if (this.#sweep.untilProblem && this.#problems.length > 0) break;
    }
    return { points: this.#points, problems: this.#problems };
  }

  async #fullScenario(): Promise<{
    readonly boundaries: readonly number[];
    readonly images: readonly Image[];
  }> {
    const { scenario = fullScenario, share } = this.#sweep;
    const gates = new Gates();
    const effectsFile = this.#newEffectsFile('');
    const boundaries: number[] = [];
    const cutAt = (boundary: number): Cut | undefined => {
      if (this.#random() >= share) return undefined;
      boundaries.push(boundary);
      return this.#cut();
    };
    const begun = { disk: new FaultyFiles(), directories: new Set<string>(), knowledge: [] };
    const machine = new Machine(begun, effectsFile, cutAt, this.#plant);
    const host = await this.#open(machine.files, effectsFile, gates);
    await scenario(host, this.#directory, gates, (known) => machine.knowledge.push(known));
    return { boundaries, images: machine.images };
  }

  /** Continues the same life, with another power cut while it is resumed. */
  async #cutAgain(image: Image): Promise<Image | undefined> {
    const effectsFile = this.#newEffectsFile(image.effectsFile);
    const at = Math.floor(this.#random() * BOUNDARIES_OF_OPENING);
    const cutAt = (boundary: number): Cut | undefined => (boundary === at ? this.#cut() : undefined);
    const machine = new Machine(copyOf(image), effectsFile, cutAt, this.#plant);
    try {
      const host = await this.#open(machine.files, effectsFile);
      const ids = Object.fromEntries(ledgersOf(image.knowledge).map(({ name, id }) => [name, id]));
      await reopenPods(host, ids, (known) => machine.knowledge.push(known));
      await host.shutdown();
    } catch {
      // A failure to open is detected when the first image is checked.
    }
    return machine.images[0];
  }

  async #inspect(image: Image, boundary: string): Promise<void> {
    this.#points += 1;
    const report = (problem: string): void =>
      void this.#problems.push(`seed ${this.#sweep.seed}, power cut at ${boundary}: ${problem}`);
    const effectsFile = this.#newEffectsFile(image.effectsFile);
    const files = this.#plant(filesOf(image.disk, new Set(image.directories)));
    try {
      const host = await this.#open(files, effectsFile);
      const reopened = { host, files, directory: DIRECTORY, effectsFile, isLossy: true };
      (await problemsAfter(reopened, image.knowledge)).forEach(report);
      await host.shutdown();
    } catch (thrown) {
      report(`it does not open: ${messageOf(thrown)}`);
    }
  }

  #open(files: Files, effectsFile: string, gates?: Gates): Promise<Host> {
    const { url, options } = this.#sweep;
    const gate = (name: string): Promise<void> => gates?.wait(name) ?? Promise.resolve();
    return Host.open({
      directory: DIRECTORY,
      agents: agentsIn(url, { effectsFile, gate }),
      files,
      ...options,
    });
  }

  #cut(): Cut {
    const { survival } = this.#sweep;
    return survival === undefined ? anyCut(this.#random) : { session: survival, rest: survival };
  }

  #newEffectsFile(soFar: string): string {
    const effectsFile = join(this.#directory, `effects-${(this.#effectsFiles += 1)}`);
    writeFileSync(effectsFile, soFar);
    return effectsFile;
  }
}

function copyOf({ disk, directories, knowledge }: Image): Pick<Image, 'disk' | 'directories' | 'knowledge'> {
  const copy = new FaultyFiles();
  for (const directory of directories) copyFiles(disk, directory, copy);
  return { disk: copy, directories, knowledge };
}

/** Sometimes everything is kept except the end of a session, the only file that is synced. */
function anyCut(random: () => number): Cut {
  const session = anySurvival(random);
  if (random() < 0.7) return { session, rest: anySurvival(random) };
  return { session: { ...session, names: true }, rest: { torn: 1, zeros: false, names: true } };
}

/** Often all or nothing, otherwise torn at a random position. */
function anySurvival(random: () => number): Survival {
  const torn = random() < 0.25 ? 0 : random() < 0.25 ? 1 : random();
  return { torn, zeros: random() < 0.25, names: random() < 0.5 };
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../../src/base/index.ts';
import { Host, type HostOptions } from '../../../src/pod/index.ts';
import type { Files } from '../../../src/store/index.ts';
import { FaultyFiles, type Survival } from '../../store/faulty-files.ts';
import { ledgersOf } from './ledger.ts';
import { comeBack, type Life, live } from './scenarios.ts';
import { copyFiles, type Cut, filesOf, type Image, Machine, type Plant } from './power-cut.ts';
import { problemsAfter } from './problems.ts';
import { randomFrom } from './random.ts';
import { agentsIn, Gates } from './test-agents.ts';

export interface LossySweep {
  /** The simulator's address. */
  readonly url: string;
  readonly life?: Life;
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
  const place = mkdtempSync(join(tmpdir(), 'polypod-crash-'));
  try {
    return await new Sweeper(sweep, place).sweep();
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

class Sweeper {
  readonly #sweep: LossySweep;
  readonly #place: string;
  readonly #random: () => number;
  readonly #plant: Plant;
  readonly #problems: string[] = [];
  #points = 0;
  #witnesses = 0;

  constructor(sweep: LossySweep, place: string) {
    this.#sweep = sweep;
    this.#place = place;
    this.#random = randomFrom(sweep.seed);
    this.#plant = sweep.plant ?? ((files) => files);
  }

  async sweep(): Promise<Swept> {
    const { boundaries, images } = await this.#live();
    for (const [index, image] of images.entries()) {
      const again = index % 2 === 0 ? undefined : await this.#cutAgain(image);
      await this.#inspect(image, `${boundaries[index]}`);
      if (again !== undefined) await this.#inspect(again, `${boundaries[index]} and again`);
      if (this.#sweep.untilProblem && this.#problems.length > 0) break;
    }
    return { points: this.#points, problems: this.#problems };
  }

  async #live(): Promise<{ readonly boundaries: readonly number[]; readonly images: readonly Image[] }> {
    const { life = live, share } = this.#sweep;
    const gates = new Gates();
    const witness = this.#witnessing('');
    const boundaries: number[] = [];
    const cutAt = (boundary: number): Cut | undefined => {
      if (this.#random() >= share) return undefined;
      boundaries.push(boundary);
      return this.#cut();
    };
    const begun = { disk: new FaultyFiles(), directories: new Set<string>(), knowledge: [] };
    const machine = new Machine(begun, witness, cutAt, this.#plant);
    const host = await this.#open(machine.files, witness, gates);
    await life(host, this.#place, gates, (known) => machine.knowledge.push(known));
    return { boundaries, images: machine.images };
  }

  /** Continues the same life, with another power cut while it is resumed. */
  async #cutAgain(image: Image): Promise<Image | undefined> {
    const witness = this.#witnessing(image.witness);
    const at = Math.floor(this.#random() * BOUNDARIES_OF_OPENING);
    const cutAt = (boundary: number): Cut | undefined => (boundary === at ? this.#cut() : undefined);
    const machine = new Machine(copyOf(image), witness, cutAt, this.#plant);
    try {
      const host = await this.#open(machine.files, witness);
      const ids = Object.fromEntries(ledgersOf(image.knowledge).map(({ name, id }) => [name, id]));
      await comeBack(host, ids, (known) => machine.knowledge.push(known));
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
    const witness = this.#witnessing(image.witness);
    const files = this.#plant(filesOf(image.disk, new Set(image.directories)));
    try {
      const host = await this.#open(files, witness);
      const reopened = { host, files, directory: DIRECTORY, witness, isLossy: true };
      (await problemsAfter(reopened, image.knowledge)).forEach(report);
      await host.shutdown();
    } catch (thrown) {
      report(`it does not open: ${messageOf(thrown)}`);
    }
  }

  #open(files: Files, witness: string, gates?: Gates): Promise<Host> {
    const { url, options } = this.#sweep;
    const gate = (name: string): Promise<void> => gates?.wait(name) ?? Promise.resolve();
    return Host.open({ directory: DIRECTORY, agents: agentsIn(url, { witness, gate }), files, ...options });
  }

  #cut(): Cut {
    const { survival } = this.#sweep;
    return survival === undefined ? anyCut(this.#random) : { session: survival, rest: survival };
  }

  #witnessing(soFar: string): string {
    const witness = join(this.#place, `witness-${(this.#witnesses += 1)}`);
    writeFileSync(witness, soFar);
    return witness;
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

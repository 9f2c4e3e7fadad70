import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../../src/base/index.ts';
import { Host, type HostOptions } from '../../../src/pod/index.ts';
import type { Files } from '../../../src/store/index.ts';
import { FaultyFiles, type Survival } from '../../store/faulty-files.ts';
import { ledgersOf } from './ledger.ts';
import { comeBack, type Life, live } from './life.ts';
import { copyFiles, type Cut, filesOf, type Image, Machine, type Plant } from './power-cut.ts';
import { problemsAfter } from './problems.ts';
import { randomFrom } from './random.ts';
import { agentsIn, Gates } from './world.ts';

export interface LossySweep {
  /** Of the simulator. */
  readonly url: string;
  readonly life?: Life;
  readonly seed: number;
  /** At which part of the boundaries, 0 to 1, the power is cut. */
  readonly share: number;
  /** What the disk keeps; by chance unless told. */
  readonly survival?: Survival;
  readonly plant?: Plant;
  readonly options?: Partial<HostOptions>;
  /** Goes no further than to the first point where something is wrong. */
  readonly untilProblem?: boolean;
}

export interface Swept {
  readonly points: number;
  readonly problems: readonly string[];
}

const DIRECTORY = '/data';
/** About as many boundaries as there are until a pod that was opened again is at rest. */
const BOUNDARIES_OF_OPENING = 60;

/**
 * One life, and the machine at many of its boundaries as a power cut would leave it. Each is opened again and asked for
 * what was promised; every other one loses its power a second time while it is being opened.
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

  /** The same life goes on, and is cut off again while it is being taken up. */
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
      // What keeps it from being opened is found when the first image is looked at.
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

/** Now and then everything is there but the end of a session, the one thing that is waited for. */
function anyCut(random: () => number): Cut {
  const session = anySurvival(random);
  if (random() < 0.7) return { session, rest: anySurvival(random) };
  return { session: { ...session, names: true }, rest: { torn: 1, zeros: false, names: true } };
}

/** Often all or nothing, else torn somewhere. */
function anySurvival(random: () => number): Survival {
  const torn = random() < 0.25 ? 0 : random() < 0.25 ? 1 : random();
  return { torn, zeros: random() < 0.25, names: random() < 0.5 };
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../../src/base/index.ts';
import { Host, type HostOptions } from '../../../src/pod/index.ts';
import type { Files } from '../../../src/store/index.ts';
import { FaultyFiles, type Survival } from '../../store/faulty-files.ts';
import { ledgersOf } from './ledger.ts';
import { comeBack, type Life, live } from './life.ts';
import { type Cut, filesOf, type Image, Machine, type Plant } from './power-cut.ts';
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
export async function lossySweep({
  url,
  seed,
  share,
  survival,
  plant = (files) => files,
  options = {},
}: LossySweep): Promise<Swept> {
  const random = randomFrom(seed);
  const cut = (): Cut => ({
    session: survival ?? anySurvival(random),
    rest: survival ?? anySurvival(random),
  });
  const place = mkdtempSync(join(tmpdir(), 'polypod-crash-'));
  const problems: string[] = [];
  let points = 0;
  let witnesses = 0;
  const witnessing = (so: string): string => {
    const witness = join(place, `witness-${(witnesses += 1)}`);
    writeFileSync(witness, so);
    return witness;
  };
  const open = (files: Files, witness: string, gates?: Gates): Promise<Host> => {
    const gate = (name: string): Promise<void> => gates?.wait(name) ?? Promise.resolve();
    return Host.open({ directory: DIRECTORY, agents: agentsIn(url, { witness, gate }), files, ...options });
  };
  const inspect = async (image: Image, boundary: string): Promise<void> => {
    points += 1;
    const report = (problem: string): void =>
      void problems.push(`seed ${seed}, power cut at ${boundary}: ${problem}`);
    const witness = witnessing(image.witness);
    const files = plant(filesOf(image.disk, new Set(image.directories)));
    try {
      const host = await open(files, witness);
      const reopened = { host, files, directory: DIRECTORY, cwd: place, witness, isLossy: true };
      (await problemsAfter(reopened, image.knowledge)).forEach(report);
      await host.shutdown();
    } catch (thrown) {
      report(`it does not open: ${messageOf(thrown)}`);
    }
  };
  /** The same life goes on, and is cut off again while it is being taken up. */
  const cutAgain = async (image: Image): Promise<Image | undefined> => {
    const witness = witnessing(image.witness);
    const at = Math.floor(random() * BOUNDARIES_OF_OPENING);
    const machine = new Machine(
      copyOf(image),
      witness,
      (boundary) => (boundary === at ? cut() : undefined),
      plant,
    );
    try {
      const host = await open(machine.files, witness);
      const ids = Object.fromEntries(ledgersOf(image.knowledge).map(({ name, id }) => [name, id]));
      await comeBack(host, ids, (known) => machine.knowledge.push(known));
      await host.shutdown();
    } catch {
      // What keeps it from being opened is found when the first image is looked at.
    }
    return machine.images[0];
  };
  try {
    const gates = new Gates();
    const witness = witnessing('');
    const boundaries: number[] = [];
    const begun = { disk: new FaultyFiles(), directories: new Set<string>(), knowledge: [] };
    const machine = new Machine(
      begun,
      witness,
      (boundary) => {
        if (random() >= share) return undefined;
        boundaries.push(boundary);
        return cut();
      },
      plant,
    );
    await live(await open(machine.files, witness, gates), place, gates, (known) =>
      machine.knowledge.push(known),
    );
    for (const [index, image] of machine.images.entries()) {
      const boundary = String(boundaries[index]);
      const again = index % 2 === 0 ? undefined : await cutAgain(image);
      await inspect(image, boundary);
      if (again !== undefined) await inspect(again, `${boundary} and again`);
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
  return { points, problems };
}

function copyOf({ disk, directories, knowledge }: Image): Pick<Image, 'disk' | 'directories' | 'knowledge'> {
  const copy = new FaultyFiles();
  for (const directory of directories)
    for (const path of disk.list(directory)) copy.put(path, disk.contentOf(path));
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

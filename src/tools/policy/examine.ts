import type { Access } from '../tool.ts';
import { gitDoubt, trackedSecrets } from './git-configuration.ts';
import type { Ground } from './ground.ts';
import type { Judged, JudgedCommand, JudgedPath, JudgedStep, Touched } from './judged.ts';
import type { Place } from './real-path.ts';
import { type Named, type Step, stepsOf } from './steps.ts';
import { matches, notableBelow } from './survey.ts';

/** Follows every path of a call to where it leads now, so that judging it needs no file system. */
export async function examine(access: readonly Access[], ground: Ground): Promise<readonly Judged[]> {
  return await Promise.all(access.map((one) => examineOne(one, ground)));
}

async function examineOne(access: Access, ground: Ground): Promise<Judged> {
  if (access.type === 'command') return await examineCommand(access.command, access.cwd, ground);
  if (access.type === 'foreign') return access;
  return await examinePath(access.type, access.path, ground);
}

async function examinePath(type: 'read' | 'write', path: string, ground: Ground): Promise<JudgedPath> {
  return { type, path, place: await ground.realPath(path) };
}

async function examineCommand(command: string, cwd: string, ground: Ground): Promise<JudgedCommand> {
  const content = stepsOf(command, cwd);
  const place = await examinePath('read', cwd, ground);
  if ('opaque' in content) return { type: 'command', command, cwd: place, content };
  const known = remembering(ground);
  const steps: JudgedStep[] = [];
  for (const step of content.steps) steps.push(await examineStep(step, known));
  return { type: 'command', command, cwd: place, content: { steps } };
}

/** The same directories come up again and again in one command. */
function remembering(ground: Ground): Ground {
  const places = new Map<string, Promise<Place>>();
  const realPath = (path: string) => {
    const known = places.get(path);
    if (known !== undefined) return known;
    // Words that nobody writes by hand: there is no end to what they could name.
    const place =
      places.size < MOST_PATHS
        ? ground.realPath(path)
        : Promise.resolve({ problem: `the command names more than ${MOST_PATHS} files` });
    places.set(path, place);
    return place;
  };
  return { ...ground, realPath };
}

const MOST_PATHS = 5_000;

async function examineStep(step: Step, ground: Ground): Promise<JudgedStep> {
  const touched: Touched[] = [];
  for (const named of step.named) touched.push(...(await touchedBy(named, ground)));
  const doubts = await Promise.all(step.repositories.map((directory) => gitDoubt(directory, ground)));
  const shown = step.showsTracked ? step.repositories : [];
  for (const directory of shown) touched.push(...(await trackedIn(directory, ground)));
  return {
    words: step.words,
    written: step.written,
    bodies: step.bodies,
    hazard: step.hazard,
    unknown: step.unknown ?? doubts.find((doubt) => doubt !== undefined),
    touched,
  };
}

/** Secrets that git would show although nobody named them. */
async function trackedIn(directory: string, ground: Ground): Promise<readonly Touched[]> {
  const read = (path: string, place: Place): Touched => ({
    access: 'read',
    byShell: false,
    many: true,
    path,
    place,
  });
  const secrets = await trackedSecrets(directory, ground);
  if (secrets === undefined)
    return [read(directory, { problem: 'which files its repository tracks cannot be told' })];
  return await Promise.all(secrets.map(async (path) => read(path, await ground.realPath(path))));
}

async function touchedBy(named: Named, ground: Ground): Promise<readonly Touched[]> {
  const { access, byShell, path } = named;
  const many = named.wild.length > 0;
  const touch = (at: string, place: Place): Touched => ({ access, byShell, many, path: at, place });
  const found = many ? await matches(path, named.wild, ground) : { paths: [path] };
  if ('problem' in found) return [touch(path, found)];
  const touched: Touched[] = [];
  for (const match of found.paths) {
    touched.push(touch(match, flagIn(match, named) ?? (await ground.realPath(match))));
    if (!named.below) continue;
    const below = await notableBelow(match, ground);
    if ('problem' in below) touched.push(touch(match, below));
    else for (const notable of below.paths) touched.push(touch(notable, await ground.realPath(notable)));
  }
  return touched;
}

/** A file called `-x` is a flag to the program that gets it. */
function flagIn(match: string, { path, wild, mayBeFlag }: Named): Place | undefined {
  const depth = path.slice(0, wild[0]).split('/').length - 1;
  const name = match.split('/')[depth] ?? '';
  return mayBeFlag && name.startsWith('-') ? { problem: `${name} would be read as a flag` } : undefined;
}

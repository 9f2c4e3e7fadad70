import { dirname } from 'node:path';
import type { Access } from '../tool.ts';
import { hasNoSecrets, isJudgedByContent } from './credentials.ts';
import { changesNothingRun } from './executed-fields.ts';
import type { Ground } from './file-facts.ts';
import type {
  Judged,
  JudgedCommand,
  JudgedGit,
  JudgedPath,
  JudgedStep,
  KnownContent,
  Touched,
} from './judged.ts';
import type { Program } from './shell/program.ts';
import type { Place } from './real-path.ts';
import type { Repository } from './git/repository.ts';
import { isSecret } from './secret-files.ts';
import { type Named, type Step, stepsOf } from './shell/script-steps.ts';
import { matches, notableBelow } from './survey.ts';

/** Follows every path of a call to where it leads now, so that judging it needs no file system. */
export async function examine(access: readonly Access[], ground: Ground): Promise<readonly Judged[]> {
  return await Promise.all(access.map((one) => examineOne(one, ground)));
}

async function examineOne(access: Access, ground: Ground): Promise<Judged> {
  if (access.type === 'command') return await examineCommand(access.command, access.cwd, ground);
  if (access.type === 'foreign') return access;
  const place = await ground.realPath(access.path);
  const content =
    access.type === 'write' && 'after' in access
      ? { runsNothingNew: await changesNothingRun(access.path, place, access.after, ground) }
      : await contentOf(access.path, place, ground);
  return { type: access.type, path: access.path, place, ...(content && { content }) };
}

/** What is known of a file that is not named for what is in it alone. */
async function contentOf(path: string, place: Place, ground: Ground): Promise<KnownContent | undefined> {
  if (!('real' in place) || !(isJudgedByContent(path) || isJudgedByContent(place.real))) return undefined;
  return { hasNoSecrets: hasNoSecrets(place.real, await ground.read(place.real)) };
}

async function examineCommand(command: string, cwd: string, ground: Ground): Promise<JudgedCommand> {
  const content = stepsOf(command, cwd);
  const place: JudgedPath = { type: 'read', path: cwd, place: await ground.realPath(cwd) };
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
  return { ...ground, realPath, repository: once(ground.repository), program: once(ground.program) };
}

const MOST_PATHS = 5_000;

/** Answers the same question only once. */
function once<Args extends readonly string[], Answer>(
  ask: (...args: Args) => Promise<Answer>,
): (...args: Args) => Promise<Answer> {
  const answers = new Map<string, Promise<Answer>>();
  return (...args) => {
    const key = args.join('\0');
    const answer = answers.get(key) ?? ask(...args);
    answers.set(key, answer);
    return answer;
  };
}

async function examineStep(step: Step, ground: Ground): Promise<JudgedStep> {
  const touched: Touched[] = [];
  for (const named of step.named) touched.push(...(await touchedBy(named, ground)));
  const isReading = step.unknown === undefined && step.hazard === undefined;
  const programs = isReading ? await programsOf(step, ground) : [];
  const trouble = programs.map(({ doubt }) => doubt).find((doubt) => doubt !== undefined);
  const git =
    isReading && trouble === undefined && step.git !== undefined
      ? await examineGit(step.git, programs, ground)
      : { found: undefined, touched: [] };
  return {
    words: step.words,
    written: step.written,
    bodies: step.bodies,
    hazard: step.hazard,
    unknown: step.unknown ?? trouble ?? git.doubt,
    touched: [...touched, ...git.touched],
    programs: programs.map(({ program }) => program),
    git: git.found,
  };
}

/** What bash does itself. */
const BUILTINS = new Set(': [ cd command echo exit false printf pwd test true type'.split(' '));

interface Run {
  readonly program: Program;
  /** Why it may be another program than its name says. */
  readonly doubt: string | undefined;
}

/** The files that bash runs for a step. A name without a program only fails. */
async function programsOf({ words, written, directories }: Step, ground: Ground): Promise<readonly Run[]> {
  const names = [written[0]?.text, words[0]?.text].filter(
    (name) => name !== undefined && !BUILTINS.has(name),
  );
  const runs: Run[] = [];
  for (const name of new Set(names)) {
    const program = name === undefined ? undefined : await ground.program(name);
    if (program === undefined) continue;
    runs.push({ program, doubt: program.doubt ?? (await programDoubt(program, directories, ground)) });
  }
  return runs;
}

async function programDoubt(
  { path, kind }: Program,
  directories: readonly string[],
  ground: Ground,
): Promise<string | undefined> {
  if (kind === 'script') return `${path} is a script that is not part of the system`;
  if (kind !== 'shim') return undefined;
  for (const directory of directories) {
    const place = await ground.realPath(directory);
    if ('problem' in place) return place.problem;
    for (let at = place.real; ; at = dirname(at)) {
      const entries = await ground.list(at);
      const file = entries?.find(({ name }) => VERSION_FILES.test(name));
      if (entries === undefined || file !== undefined)
        return `${path} belongs to a version manager, and ${at}/${file?.name ?? ''} chooses what it runs`;
      if (at === dirname(at)) break;
    }
  }
  return undefined;
}

/** By these files version managers choose a program. */
const VERSION_FILES =
  /^(?:\.?mise(?:\..*)?\.toml|\.tool-versions|\.(?:python|node|ruby|go|java)-version|\.nvmrc|rust-toolchain(?:\.toml)?)$/i;

interface ExaminedStep {
  readonly found: JudgedGit | undefined;
  readonly doubt?: string | undefined;
  readonly touched: readonly Touched[];
}

/** Which repositories a git command would use, and what of them it would show. */
async function examineGit(
  { directories, shows }: NonNullable<Step['git']>,
  runs: readonly Run[],
  ground: Ground,
): Promise<ExaminedStep> {
  const git = runs.map(({ program }) => program).find(({ path }) => path.endsWith('/git'));
  if (git === undefined) return { found: undefined, touched: [] };
  // It is run now to find the repository: it must be the real one.
  if (git.kind !== 'system')
    return { found: undefined, doubt: `${git.path} is not installed with the system`, touched: [] };
  const places: { directory: string; repository: Repository | undefined }[] = [];
  const touched: Touched[] = [];
  for (const stated of directories) {
    const place = await ground.realPath(stated);
    if ('problem' in place) return { found: undefined, doubt: place.problem, touched: [] };
    const discovery = await ground.repository(git.path, place.real);
    if (discovery !== 'none' && 'doubt' in discovery)
      return { found: undefined, doubt: discovery.doubt, touched: [] };
    const repository = discovery === 'none' ? undefined : discovery;
    places.push({ directory: place.real, repository });
    if (repository !== undefined) touched.push(...(await repositoryReads(repository, shows, ground)));
  }
  return { found: { program: git.path, places }, touched };
}

async function repositoryReads(
  { top, gitDirectory, commonDirectory, isLinkedWorktree, tracked }: Repository,
  shows: 'contents' | 'names',
  ground: Ground,
): Promise<readonly Touched[]> {
  const directories = isLinkedWorktree ? [top] : [top, gitDirectory, commonDirectory];
  const read = { access: 'read', byShell: false } as const;
  const secrets = shows === 'contents' ? tracked.map((name) => `${top}/${name}`).filter(isSecret) : [];
  return [
    ...[...new Set(directories)].map(
      (path): Touched => ({ ...read, many: false, shown: false, path, place: { real: path } }),
    ),
    ...(await Promise.all(
      secrets.map(async (path): Promise<Touched> => {
        const place = await ground.realPath(path);
        const content = await contentOf(path, place, ground);
        return { ...read, many: true, shown: true, path, place, ...(content && { content }) };
      }),
    )),
  ];
}

async function touchedBy(named: Named, ground: Ground): Promise<readonly Touched[]> {
  const { access, byShell, path, shown } = named;
  const many = named.wild.length > 0;
  const touch = async (at: string, place: Place): Promise<Touched> => {
    const content = await touchedContent(named, at, place, ground);
    return {
      access,
      byShell,
      many,
      shown,
      path: at,
      place,
      ...(many && { pattern: path }),
      ...(content && { content }),
    };
  };
  const found = many ? await matches(path, named.wild, ground) : { paths: [path] };
  if ('problem' in found) return [await touch(path, found)];
  const touched: Touched[] = [];
  for (const match of found.paths) {
    touched.push(await touch(match, flagIn(match, named) ?? (await ground.realPath(match))));
    if (named.below === false) continue;
    const below = await notableBelow(match, named.below, ground);
    if ('problem' in below) touched.push(await touch(match, below));
    else
      for (const notable of below.paths) touched.push(await touch(notable, await ground.realPath(notable)));
  }
  return touched;
}

async function touchedContent(
  { access, shown }: Named,
  path: string,
  place: Place,
  ground: Ground,
): Promise<KnownContent | undefined> {
  if (access !== 'write') return shown ? await contentOf(path, place, ground) : undefined;
  // The file tools put a new file there; the shell and its programs change the one that is there.
  return 'real' in place && (await ground.hardLinks(place.real)) > 1 ? { isHardLinked: true } : undefined;
}

/** A file called `-x` is a flag to the program that gets it. */
function flagIn(match: string, { path, wild, mayBeFlag }: Named): Place | undefined {
  const depth = path.slice(0, wild[0]).split('/').length - 1;
  const name = match.split('/')[depth] ?? '';
  return mayBeFlag && name.startsWith('-')
    ? { problem: 'a name that starts with - would be read as a flag' }
    : undefined;
}

import { dirname } from 'node:path';
import type { Access } from '../tool.ts';
import { hasNoSecrets, isJudgedByContent } from './credentials.ts';
import { changesNothingRun } from './executed-fields.ts';
import type { FileFacts } from './file-facts.ts';
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
import type { PathLocation } from './real-path.ts';
import type { Repository } from './git/repository.ts';
import { isSecret } from './secret-files.ts';
import { type Named, type Step, stepsOf } from './shell/script-steps.ts';
import { matches, notableBelow } from './survey.ts';

/** Follows every path of a call to where it leads now, so that judging it needs no file system. */
export async function examine(access: readonly Access[], fileFacts: FileFacts): Promise<readonly Judged[]> {
  return await Promise.all(access.map((one) => examineOne(one, fileFacts)));
}

async function examineOne(access: Access, fileFacts: FileFacts): Promise<Judged> {
  if (access.type === 'command') return await examineCommand(access.command, access.cwd, fileFacts);
  if (access.type === 'foreign') return access;
  const place = await fileFacts.realPath(access.path);
  const content =
    access.type === 'write' && 'after' in access
      ? { runsNothingNew: await changesNothingRun(access.path, place, access.after, fileFacts) }
      : await contentOf(access.path, place, fileFacts);
  return { type: access.type, path: access.path, place, ...(content && { content }) };
}

/** What is known of a file that is not named for what is in it alone. */
async function contentOf(
  path: string,
  place: PathLocation,
  fileFacts: FileFacts,
): Promise<KnownContent | undefined> {
  if (!('real' in place) || !(isJudgedByContent(path) || isJudgedByContent(place.real))) return undefined;
  return { hasNoSecrets: hasNoSecrets(place.real, await fileFacts.read(place.real)) };
}

async function examineCommand(command: string, cwd: string, fileFacts: FileFacts): Promise<JudgedCommand> {
  const content = stepsOf(command, cwd);
  const place: JudgedPath = { type: 'read', path: cwd, place: await fileFacts.realPath(cwd) };
  if ('opaque' in content) return { type: 'command', command, cwd: place, content };
  const known = remembering(fileFacts);
  const steps: JudgedStep[] = [];
  for (const step of content.steps) steps.push(await examineStep(step, known));
  return { type: 'command', command, cwd: place, content: { steps } };
}

/** The same directories come up again and again in one command. */
function remembering(fileFacts: FileFacts): FileFacts {
  const dataPaths = new Map<string, Promise<PathLocation>>();
  const realPath = (path: string) => {
    const known = dataPaths.get(path);
    if (known !== undefined) return known;
    // Words that nobody writes by hand: there is no end to what they could name.
    const place =
      dataPaths.size < MOST_PATHS
        ? fileFacts.realPath(path)
        : Promise.resolve({ problem: `the command names more than ${MOST_PATHS} files` });
    dataPaths.set(path, place);
    return place;
  };
  return { ...fileFacts, realPath, repository: once(fileFacts.repository), program: once(fileFacts.program) };
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

async function examineStep(step: Step, fileFacts: FileFacts): Promise<JudgedStep> {
  const touched: Touched[] = [];
  for (const named of step.named) touched.push(...(await touchedBy(named, fileFacts)));
  const isReading = step.unknown === undefined && step.hazard === undefined;
  const programs = isReading ? await programsOf(step, fileFacts) : [];
  const trouble = programs.map(({ doubt }) => doubt).find((doubt) => doubt !== undefined);
  const git =
    isReading && trouble === undefined && step.git !== undefined
      ? await examineGit(step.git, programs, fileFacts)
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
async function programsOf(
  { words, written, directories }: Step,
  fileFacts: FileFacts,
): Promise<readonly Run[]> {
  const names = [written[0]?.text, words[0]?.text].filter(
    (name) => name !== undefined && !BUILTINS.has(name),
  );
  const runs: Run[] = [];
  for (const name of new Set(names)) {
    const program = name === undefined ? undefined : await fileFacts.program(name);
    if (program === undefined) continue;
    runs.push({ program, doubt: program.doubt ?? (await programDoubt(program, directories, fileFacts)) });
  }
  return runs;
}

async function programDoubt(
  { path, kind }: Program,
  directories: readonly string[],
  fileFacts: FileFacts,
): Promise<string | undefined> {
  if (kind === 'script') return `${path} is a script that is not part of the system`;
  if (kind !== 'shim') return undefined;
  for (const directory of directories) {
    const place = await fileFacts.realPath(directory);
    if ('problem' in place) return place.problem;
    for (let at = place.real; ; at = dirname(at)) {
      const entries = await fileFacts.list(at);
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
  fileFacts: FileFacts,
): Promise<ExaminedStep> {
  const git = runs.map(({ program }) => program).find(({ path }) => path.endsWith('/git'));
  if (git === undefined) return { found: undefined, touched: [] };
  // It is run now to find the repository: it must be the real one.
  if (git.kind !== 'system')
    return { found: undefined, doubt: `${git.path} is not installed with the system`, touched: [] };
  const dataPaths: { directory: string; repository: Repository | undefined }[] = [];
  const touched: Touched[] = [];
  for (const stated of directories) {
    const place = await fileFacts.realPath(stated);
    if ('problem' in place) return { found: undefined, doubt: place.problem, touched: [] };
    const discovery = await fileFacts.repository(git.path, place.real);
    if (discovery !== 'none' && 'doubt' in discovery)
      return { found: undefined, doubt: discovery.doubt, touched: [] };
    const repository = discovery === 'none' ? undefined : discovery;
    dataPaths.push({ directory: place.real, repository });
    if (repository !== undefined) touched.push(...(await repositoryReads(repository, shows, fileFacts)));
  }
  return { found: { program: git.path, dataPaths }, touched };
}

async function repositoryReads(
  { top, gitDirectory, commonDirectory, isLinkedWorktree, tracked }: Repository,
  shows: 'contents' | 'names',
  fileFacts: FileFacts,
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
        const place = await fileFacts.realPath(path);
        const content = await contentOf(path, place, fileFacts);
        return { ...read, many: true, shown: true, path, place, ...(content && { content }) };
      }),
    )),
  ];
}

async function touchedBy(named: Named, fileFacts: FileFacts): Promise<readonly Touched[]> {
  const { access, byShell, path, shown } = named;
  const many = named.wild.length > 0;
  const touch = async (at: string, place: PathLocation): Promise<Touched> => {
    const content = await touchedContent(named, at, place, fileFacts);
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
  const found = many ? await matches(path, named.wild, fileFacts) : { paths: [path] };
  if ('problem' in found) return [await touch(path, found)];
  const touched: Touched[] = [];
  for (const match of found.paths) {
    touched.push(await touch(match, flagIn(match, named) ?? (await fileFacts.realPath(match))));
    if (named.below === false) continue;
    const below = await notableBelow(match, named.below, fileFacts);
    if ('problem' in below) touched.push(await touch(match, below));
    else
      for (const notable of below.paths)
        touched.push(await touch(notable, await fileFacts.realPath(notable)));
  }
  return touched;
}

async function touchedContent(
  { access, shown }: Named,
  path: string,
  place: PathLocation,
  fileFacts: FileFacts,
): Promise<KnownContent | undefined> {
  if (access !== 'write') return shown ? await contentOf(path, place, fileFacts) : undefined;
  // The file tools put a new file there; the shell and its programs change the one that is there.
  return 'real' in place && (await fileFacts.hardLinks(place.real)) > 1 ? { isHardLinked: true } : undefined;
}

/** A file called `-x` is a flag to the program that gets it. */
function flagIn(match: string, { path, wild, mayBeFlag }: Named): PathLocation | undefined {
  const depth = path.slice(0, wild[0]).split('/').length - 1;
  const name = match.split('/')[depth] ?? '';
  return mayBeFlag && name.startsWith('-')
    ? { problem: 'a name that starts with - would be read as a flag' }
    : undefined;
}

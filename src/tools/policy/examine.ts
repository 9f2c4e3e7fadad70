import { withoutUndefined } from '../../base/index.ts';
import { dirname } from 'node:path';
import type { Access } from '../tool.ts';
import { hasNoSecrets, isJudgedByContent } from './credentials.ts';
import { keepsExecutedParts } from './executed-fields.ts';
import type { FileFacts } from './file-facts.ts';
import type {
  JudgedAccess,
  JudgedCommand,
  JudgedGit,
  JudgedPath,
  JudgedStep,
  KnownContent,
  TouchedFile,
} from './judged-access.ts';
import type { Program } from './shell/program.ts';
import type { PathLocation } from './real-path.ts';
import type { Repository } from './git/repository.ts';
import { isSecret } from './secret-files.ts';
import { type Named, type Step, scriptSteps } from './shell/script-steps.ts';
import { expandWildcards, findNotable } from './survey.ts';

/** Resolves every path of a call, so that judging it needs no file system. */
export async function examine(
  access: readonly Access[],
  fileFacts: FileFacts,
): Promise<readonly JudgedAccess[]> {
  return await Promise.all(access.map((entry) => examineAccess(entry, fileFacts)));
}

async function examineAccess(access: Access, fileFacts: FileFacts): Promise<JudgedAccess> {
  if (access.type === 'command') return await examineCommand(access.command, access.cwd, fileFacts);
  if (access.type === 'foreign' || access.type === 'web') return access;
  const location = await fileFacts.realPath(access.path);
  const content =
    access.type === 'write' && 'after' in access
      ? { runsNothingNew: await keepsExecutedParts(access.path, location, access.after, fileFacts) }
      : await knownContent(access.path, location, fileFacts);
  return { type: access.type, path: access.path, location, ...withoutUndefined({ content }) };
}

/** Returns what is known about a file beyond its name. */
async function knownContent(
  path: string,
  location: PathLocation,
  fileFacts: FileFacts,
): Promise<KnownContent | undefined> {
  if (!('real' in location) || !(isJudgedByContent(path) || isJudgedByContent(location.real)))
    return undefined;
  return { hasNoSecrets: hasNoSecrets(location.real, await fileFacts.read(location.real)) };
}

async function examineCommand(command: string, cwd: string, fileFacts: FileFacts): Promise<JudgedCommand> {
  const content = scriptSteps(command, cwd);
  const location: JudgedPath = { type: 'read', path: cwd, location: await fileFacts.realPath(cwd) };
  if ('opaque' in content) return { type: 'command', command, cwd: location, content };
  const cached = cacheFacts(fileFacts);
  const steps: JudgedStep[] = [];
  for (const step of content.steps) steps.push(await examineStep(step, cached));
  return { type: 'command', command, cwd: location, content: { steps } };
}

/** One command often refers to the same directories repeatedly. */
function cacheFacts(fileFacts: FileFacts): FileFacts {
  const locations = new Map<string, Promise<PathLocation>>();
  const realPath = (path: string) => {
    const cached = locations.get(path);
    if (cached !== undefined) return cached;
    // Nobody types that many words; there would be no limit to what they could name.
    const location =
      locations.size < MAX_PATHS
        ? fileFacts.realPath(path)
        : Promise.resolve({ problem: `the command names more than ${MAX_PATHS} files` });
    locations.set(path, location);
    return location;
  };
  return {
    ...fileFacts,
    realPath,
    repository: cacheAnswers(fileFacts.repository),
    program: cacheAnswers(fileFacts.program),
  };
}

const MAX_PATHS = 5_000;

/** Caches answers by arguments. */
function cacheAnswers<Args extends readonly string[], Answer>(
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
  const touched: TouchedFile[] = [];
  for (const named of step.named) touched.push(...(await touchedFiles(named, fileFacts)));
  const isReading = step.unknown === undefined && step.hazard === undefined;
  const programs = isReading ? await findPrograms(step, fileFacts) : [];
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

/** Builtins of bash. */
const BUILTINS = new Set(': [ cd command echo exit false printf pwd test true type'.split(' '));

interface Run {
  readonly program: Program;
  /** Why it may be another program than its name suggests. */
  readonly doubt: string | undefined;
}

/** Returns the files that bash runs for a step. A name without a program just fails. */
async function findPrograms(
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
    const location = await fileFacts.realPath(directory);
    if ('problem' in location) return location.problem;
    for (let current = location.real; ; current = dirname(current)) {
      const entries = await fileFacts.list(current);
      const file = entries?.find(({ name }) => VERSION_FILES.test(name));
      if (entries === undefined || file !== undefined)
        return `${path} belongs to a version manager, and ${current}/${file?.name ?? ''} chooses what it runs`;
      if (current === dirname(current)) break;
    }
  }
  return undefined;
}

/** Version managers select a program by these files. */
const VERSION_FILES =
  /^(?:\.?mise(?:\..*)?\.toml|\.tool-versions|\.(?:python|node|ruby|go|java)-version|\.nvmrc|rust-toolchain(?:\.toml)?)$/i;

interface ExaminedStep {
  readonly found: JudgedGit | undefined;
  readonly doubt?: string | undefined;
  readonly touched: readonly TouchedFile[];
}

/** Returns which repositories a git command would use, and what it would show of them. */
async function examineGit(
  { directories, shows }: NonNullable<Step['git']>,
  runs: readonly Run[],
  fileFacts: FileFacts,
): Promise<ExaminedStep> {
  const git = runs.map(({ program }) => program).find(({ path }) => path.endsWith('/git'));
  if (git === undefined) return { found: undefined, touched: [] };
  // It runs now to find the repository, so it must be the system's git.
  if (git.kind !== 'system')
    return { found: undefined, doubt: `${git.path} is not installed with the system`, touched: [] };
  const locations: { directory: string; repository: Repository | undefined }[] = [];
  const touched: TouchedFile[] = [];
  for (const stated of directories) {
    const location = await fileFacts.realPath(stated);
    if ('problem' in location) return { found: undefined, doubt: location.problem, touched: [] };
    const discovery = await fileFacts.repository(git.path, location.real);
    if (discovery !== 'none' && 'doubt' in discovery)
      return { found: undefined, doubt: discovery.doubt, touched: [] };
    const repository = discovery === 'none' ? undefined : discovery;
    locations.push({ directory: location.real, repository });
    if (repository !== undefined) touched.push(...(await repositoryReads(repository, shows, fileFacts)));
  }
  return { found: { program: git.path, dataPaths: locations }, touched };
}

async function repositoryReads(
  { top, gitDirectory, commonDirectory, isLinkedWorktree, tracked }: Repository,
  shows: 'contents' | 'names',
  fileFacts: FileFacts,
): Promise<readonly TouchedFile[]> {
  const directories = isLinkedWorktree ? [top] : [top, gitDirectory, commonDirectory];
  const read = { access: 'read', byShell: false } as const;
  const secrets = shows === 'contents' ? tracked.map((name) => `${top}/${name}`).filter(isSecret) : [];
  return [
    ...[...new Set(directories)].map(
      (path): TouchedFile => ({ ...read, many: false, shown: false, path, location: { real: path } }),
    ),
    ...(await Promise.all(
      secrets.map(async (path): Promise<TouchedFile> => {
        const location = await fileFacts.realPath(path);
        const content = await knownContent(path, location, fileFacts);
        return { ...read, many: true, shown: true, path, location, ...withoutUndefined({ content }) };
      }),
    )),
  ];
}

async function touchedFiles(named: Named, fileFacts: FileFacts): Promise<readonly TouchedFile[]> {
  const { access, byShell, path, shown } = named;
  const hasWildcard = named.wild.length > 0;
  const touch = async (current: string, location: PathLocation): Promise<TouchedFile> => {
    const content = await touchedContent(named, current, location, fileFacts);
    return {
      access,
      byShell,
      many: hasWildcard,
      shown,
      path: current,
      location,
      ...(hasWildcard && { pattern: path }),
      ...withoutUndefined({ content }),
    };
  };
  const found = hasWildcard ? await expandWildcards(path, named.wild, fileFacts) : { paths: [path] };
  if ('problem' in found) return [await touch(path, found)];
  const touched: TouchedFile[] = [];
  for (const match of found.paths) {
    touched.push(await touch(match, flagProblem(match, named) ?? (await fileFacts.realPath(match))));
    if (named.below === false) continue;
    const below = await findNotable(match, named.below, fileFacts);
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
  location: PathLocation,
  fileFacts: FileFacts,
): Promise<KnownContent | undefined> {
  if (access !== 'write') return shown ? await knownContent(path, location, fileFacts) : undefined;
  // The file tools create a new file; the shell and its programs modify the existing one.
  return 'real' in location && (await fileFacts.hardLinks(location.real)) > 1
    ? { isHardLinked: true }
    : undefined;
}

/** A file named `-x` is a flag to the program that receives it. */
function flagProblem(match: string, { path, wild, mayBeFlag }: Named): PathLocation | undefined {
  const depth = path.slice(0, wild[0]).split('/').length - 1;
  const name = match.split('/')[depth] ?? '';
  return mayBeFlag && name.startsWith('-')
    ? { problem: 'a name that starts with - would be read as a flag' }
    : undefined;
}

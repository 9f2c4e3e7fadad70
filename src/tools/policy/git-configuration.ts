import { dirname, resolve } from 'node:path';
import { trackedNames } from './git-index.ts';
import type { Ground } from './ground.ts';
import { isSecret } from './secret-files.ts';

/**
 * For the environment of commands: git then neither writes its index when it is only asked something, nor runs a file
 * system monitor. The policy does not rely on it; it makes `git diff` change nothing at all.
 */
export const quietGit: Readonly<Record<string, string>> = {
  GIT_OPTIONAL_LOCKS: '0',
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'diff.autoRefreshIndex',
  GIT_CONFIG_VALUE_0: 'false',
  GIT_CONFIG_KEY_1: 'core.fsmonitor',
  GIT_CONFIG_VALUE_1: 'false',
};

/**
 * Why git should not run in a directory without a question. Even `git status` runs what its repository's configuration
 * names (core.fsmonitor, diff.external, filters) and one of its hooks; and a directory with HEAD, objects and refs in it
 * is a repository, whoever put it there.
 */
export async function gitDoubt(directory: string, ground: Ground): Promise<string | undefined> {
  const repository = await repositoryOf(directory, ground);
  if (repository === undefined || 'doubt' in repository) return repository?.doubt;
  const settings = await settingsOf(repository.path, ground);
  if ('doubt' in settings) return settings.doubt;
  return settingsDoubt(settings.all) ?? (await hookDoubt(repository.top, settings, ground));
}

/**
 * The tracked files that hold secrets by their names: `git diff` shows them without naming them. Undefined when it
 * cannot be told. What was tracked once and is in the history alone is not found.
 */
export async function trackedSecrets(
  directory: string,
  ground: Ground,
): Promise<readonly string[] | undefined> {
  const repository = await repositoryOf(directory, ground);
  if (repository === undefined) return [];
  const settings = 'doubt' in repository ? repository : await settingsOf(repository.path, ground);
  if ('doubt' in repository || 'doubt' in settings) return undefined;
  const index = await ground.read(`${repository.path}/index`);
  if (index === undefined) return [];
  const isLong = settings.all.some(({ key, value }) => key === 'objectformat' && value === 'sha256');
  const tracked = 'problem' in index ? undefined : trackedNames(index.bytes, isLong ? 32 : 20);
  return tracked?.map((name) => `${repository.top}/${name}`).filter(isSecret);
}

interface Settings {
  /** The directory that worktrees have in common. */
  readonly home: string;
  readonly all: readonly Setting[];
}

async function settingsOf(path: string, ground: Ground): Promise<Settings | { readonly doubt: string }> {
  const pointer = await textOf(`${path}/commondir`, ground);
  if (typeof pointer !== 'string') return pointer;
  const home = resolve(path, pointer.trim());
  const all: Setting[] = [];
  for (const file of [`${home}/config`, `${path}/config.worktree`]) {
    const text = await textOf(file, ground);
    if (typeof text !== 'string') return text;
    all.push(...settingsIn(text));
  }
  return { home, all };
}

/** What is in a file; nothing, if there is none. */
async function textOf(file: string, ground: Ground): Promise<string | { readonly doubt: string }> {
  const content = await ground.read(file);
  if (content === undefined) return '';
  return 'problem' in content ? { doubt: content.problem } : content.bytes.toString();
}

function settingsDoubt(settings: readonly Setting[]): string | undefined {
  const strange = settings.find((setting) => !isHarmless(setting));
  return strange === undefined
    ? undefined
    : `the repository's configuration has ${strange.section}.${strange.key}, which may run programs`;
}

type Repository =
  | {
      readonly path: string;
      /** The directory that relative paths in the configuration start from. */
      readonly top: string;
    }
  | { readonly doubt: string }
  | undefined;

/** Where git finds its repository: in the directory or the nearest one above it. */
async function repositoryOf(directory: string, ground: Ground): Promise<Repository> {
  const place = await ground.realPath(directory);
  if ('problem' in place) return { doubt: place.problem };
  for (let at = place.real; ; at = dirname(at)) {
    const names = await namesIn(at, ground);
    if (names === undefined) return { doubt: `what is in ${at} cannot be told` };
    if (names.has('.git')) return await pointedTo(at, ground);
    if (['head', 'objects', 'refs'].every((name) => names.has(name))) return { path: at, top: at };
    if (at === dirname(at)) return undefined;
  }
}

/** In lower case: a file system may not tell the difference. */
async function namesIn(directory: string, ground: Ground): Promise<ReadonlySet<string> | undefined> {
  const entries = await ground.list(directory);
  return entries === undefined ? undefined : new Set(entries.map(({ name }) => name.toLowerCase()));
}

/** A `.git` that is a file tells where the repository is: so do worktrees and submodules. */
async function pointedTo(top: string, ground: Ground): Promise<Repository> {
  const path = `${top}/.git`;
  const pointer = await ground.read(path);
  if (pointer === undefined) return { path, top };
  if ('problem' in pointer) return { doubt: pointer.problem };
  const [, target] = /^gitdir: (.+)$/m.exec(pointer.bytes.toString()) ?? [];
  if (target === undefined) return { doubt: `${path} is no repository` };
  return { path: resolve(top, target.trim()), top };
}

/** The one hook that commands run which only look: they may refresh the index. */
async function hookDoubt(top: string, { home, all }: Settings, ground: Ground): Promise<string | undefined> {
  const paths = all.filter(({ section, key }) => section === 'core' && key === 'hookspath');
  for (const directory of [`${home}/hooks`, ...paths.map(({ value }) => resolve(top, value))]) {
    const names = await namesIn(directory, ground);
    if (names?.has('post-index-change') !== false)
      return 'the repository has a hook that git runs when it looks at files';
  }
  return undefined;
}

/** Settings that run nothing, by section. A section with `*` has only harmless ones. */
const HARMLESS: Readonly<Record<string, string>> = {
  advice: '*',
  branch: '*',
  color: '*',
  column: '*',
  core:
    'abbrev autocrlf bare bigfilethreshold commentchar compression eol filemode hidedotfiles hookspath ignorecase ' +
    'logallrefupdates longpaths precomposeunicode preloadindex protecthfs protectntfs quotepath ' +
    'repositoryformatversion safecrlf sharedrepository sparsecheckout sparsecheckoutcone symlinks untrackedcache whitespace',
  extensions: 'objectformat refstorage worktreeconfig compatobjectformat',
  fetch: 'prune prunetags recursesubmodules fsckobjects parallel',
  gc: 'auto autodetach',
  index: '*',
  init: 'defaultbranch',
  lfs: 'access locksverify repositoryformatversion',
  maintenance: 'auto strategy',
  merge: 'conflictstyle ff renames',
  pull: '*',
  push: '*',
  rebase: '*',
  remote: 'url pushurl fetch push prune prunetags tagopt mirror skipdefaultupdate skipfetchall gh-resolved',
  rerere: '*',
  status: '*',
  submodule: 'url active branch ignore fetchrecursesubmodules recurse',
  user: '*',
};

interface Setting {
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/** What a configuration sets. A line that cannot be read is a setting of no section, and hence not harmless. */
function settingsIn(text: string): readonly Setting[] {
  let section = '';
  const settings: Setting[] = [];
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '' || /^[#;]/.test(line)) continue;
    const [, title] = /^\[([A-Za-z0-9-]+)(?: "(?:[^"\\]|\\.)*")?\]$/.exec(line) ?? [];
    const [, key, value = ''] = /^([A-Za-z][A-Za-z0-9-]*)(?: *= *(.*))?$/.exec(line) ?? [];
    if (title !== undefined) section = title.toLowerCase();
    // What goes on in the next line could hide a setting from us.
    else if (key === undefined || line.endsWith('\\'))
      settings.push({ section: '', key: line.slice(0, 40), value });
    else settings.push({ section, key: key.toLowerCase(), value });
  }
  return settings;
}

/** A path that git would expand is not followed. */
function isHarmless({ section, key, value }: Setting): boolean {
  const keys = Object.hasOwn(HARMLESS, section) ? HARMLESS[section] : undefined;
  if (key === 'hookspath' && !/^[\w./-]+$/.test(value)) return false;
  return keys === '*' || keys?.split(' ').includes(key) === true;
}

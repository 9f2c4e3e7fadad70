import { dirname, resolve } from 'node:path';
import type { Ground } from './ground.ts';

/**
 * Why git should not run in a directory without a question. Even `git status` runs what its repository's configuration
 * names (core.fsmonitor, diff.external, filters), and a directory with HEAD, objects and refs in it is a repository,
 * whoever put it there.
 */
export async function gitDoubt(directory: string, ground: Ground): Promise<string | undefined> {
  const repository = await repositoryOf(directory, ground);
  if (repository === undefined) return undefined;
  if ('doubt' in repository) return repository.doubt;
  const { path } = repository;
  const pointer = (await ground.read(`${path}/commondir`)) ?? { text: '' };
  if ('problem' in pointer) return pointer.problem;
  for (const file of [`${resolve(path, pointer.text.trim())}/config`, `${path}/config.worktree`]) {
    const content = (await ground.read(file)) ?? { text: '' };
    if ('problem' in content) return content.problem;
    const setting = strangeSetting(content.text);
    if (setting !== undefined) return `the repository's configuration has ${setting}, which may run programs`;
  }
  return undefined;
}

type Repository = { readonly path: string } | { readonly doubt: string } | undefined;

/** Where git finds its repository: in the directory or the nearest one above it. */
async function repositoryOf(directory: string, ground: Ground): Promise<Repository> {
  const place = await ground.realPath(directory);
  if ('problem' in place) return { doubt: place.problem };
  for (let at = place.real; ; at = dirname(at)) {
    const entries = await ground.list(at);
    if (entries === undefined) return { doubt: `what is in ${at} cannot be told` };
    const names = new Set(entries.map(({ name }) => name.toLowerCase()));
    if (names.has('.git')) return await pointedTo(`${at}/.git`, ground);
    if (['head', 'objects', 'refs'].every((name) => names.has(name))) return { path: at };
    if (at === dirname(at)) return undefined;
  }
}

/** A `.git` that is a file tells where the repository is: so do worktrees and submodules. */
async function pointedTo(path: string, ground: Ground): Promise<Repository> {
  const pointer = await ground.read(path);
  if (pointer === undefined) return { path };
  if ('problem' in pointer) return { doubt: pointer.problem };
  const [, target] = /^gitdir: (.+)$/m.exec(pointer.text) ?? [];
  if (target === undefined) return { doubt: `${path} is no repository` };
  return { path: resolve(dirname(path), target.trim()) };
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

/** The first setting that is not known to run nothing. What cannot be read counts as one. */
function strangeSetting(text: string): string | undefined {
  let section = '';
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    if (trimmed === '' || /^[#;]/.test(trimmed)) continue;
    const header = /^\[([A-Za-z0-9-]+)(?: "(?:[^"\\]|\\.)*")?\]$/.exec(trimmed);
    const [, key] = /^([A-Za-z][A-Za-z0-9-]*)(?: *=.*)?$/.exec(trimmed) ?? [];
    // A line that goes on in the next one could hide a setting from us.
    if (header === null && (key === undefined || trimmed.endsWith('\\'))) return `"${trimmed.slice(0, 40)}"`;
    if (header !== null) section = header[1]?.toLowerCase() ?? '';
    else if (key !== undefined && !isHarmless(section, key.toLowerCase())) return `${section}.${key}`;
  }
  return undefined;
}

function isHarmless(section: string, key: string): boolean {
  const keys = Object.hasOwn(HARMLESS, section) ? HARMLESS[section] : undefined;
  return keys === '*' || keys?.split(' ').includes(key) === true;
}

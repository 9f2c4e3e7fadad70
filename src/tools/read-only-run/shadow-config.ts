import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { fixedGitEnvironment, type Repository } from '../policy/index.ts';

type Env = Readonly<Record<string, string>>;

/**
 * Returns the configuration of a shadow repository: the settings of the user and of the repository that change
 * what git prints and cannot make it run anything. Git reads them for us; every key that is not listed here is
 * dropped.
 */
export async function shadowConfig(git: string, repository: Repository, env: Env): Promise<string> {
  const stated = await configuredSettings(git, repository, env);
  const settings = stated.flatMap((setting) => allowedSettings(setting, env));
  const ignoreFile = join(
    env['XDG_CONFIG_HOME'] ?? join(env['HOME'] ?? '/nonexistent', '.config'),
    'git/ignore',
  );
  const hasIgnoreFile =
    !settings.some(({ key }) => key === 'core.excludesfile') && (await exists(ignoreFile));
  return [...BASE, ...settings, ...(hasIgnoreFile ? [{ key: 'core.excludesfile', value: ignoreFile }] : [])]
    .map(line)
    .join('');
}

interface Setting {
  readonly key: string;
  readonly value: string;
}

interface ConfiguredSetting extends Setting {
  /** Whether the repository sets it, or the user. */
  readonly isLocal: boolean;
}

const BASE: readonly Setting[] = [
  { key: 'core.repositoryformatversion', value: '0' },
  { key: 'core.bare', value: 'false' },
];

/** Keys without their subsections. `*` matches every key of the section. */
const ADMITTED = new Set(
  (
    'advice.* branch.remote branch.merge branch.rebase branch.sort column.* ' +
    'core.filemode core.ignorecase core.symlinks core.precomposeunicode core.quotepath core.abbrev core.autocrlf core.eol ' +
    'core.safecrlf core.whitespace core.trustctime core.checkstat core.protecthfs core.protectntfs core.bigfilethreshold ' +
    'diff.renames diff.renamelimit diff.algorithm diff.context diff.interhunkcontext diff.mnemonicprefix diff.noprefix ' +
    'diff.indentheuristic diff.statgraphwidth diff.relative ' +
    'blame.date blame.showemail blame.showroot blame.blankboundary ' +
    'grep.linenumber grep.column grep.patterntype grep.extendedregexp grep.fullname ' +
    'i18n.commitencoding i18n.logoutputencoding ' +
    'log.date log.decorate log.abbrevcommit log.follow log.showroot log.mailmap ' +
    'push.default remote.url remote.pushurl remote.fetch stash.showpatch stash.showstat stash.showincludeuntracked ' +
    'status.* tag.sort url.insteadof url.pushinsteadof user.name user.email versionsort.suffix'
  ).split(' '),
);

function allowedSettings({ key, value, isLocal }: ConfiguredSetting, env: Env): readonly Setting[] {
  const [section = '', name = ''] = [key.split('.')[0], key.split('.').at(-1)];
  if (key.length + value.length > MAX_CHARACTERS || /\p{Cc}/u.test(key + value)) return [];
  // Ignore rules of the user; those that a repository names could be any file.
  if (key === 'core.excludesfile')
    return isLocal ? [] : [{ key, value: value.replace(/^~(?=\/)/, env['HOME'] ?? '/nonexistent') }];
  if (!ADMITTED.has(`${section}.${name}`) && !ADMITTED.has(`${section}.*`)) return [];
  return [{ key, value: name === 'url' || name === 'pushurl' ? withoutPassword(value) : value }];
}

const MAX_CHARACTERS = 4_000;

/** `git remote -v` prints `https://user:password@host`. */
function withoutPassword(url: string): string {
  return url.replace(/^([a-z+]+:\/\/[^/@:]*):[^/@]*@/i, '$1@');
}

function line({ key, value }: Setting): string {
  const [section = '', ...rest] = key.split('.');
  const name = rest.pop() ?? '';
  const subsection = rest.join('.');
  const title =
    subsection === '' ? section : `${section} "${subsection.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  return `[${title}]\n\t${name} = "${value.replaceAll(/["\\]/g, String.raw`\$&`)}"\n`;
}

/** Returns nothing if git fails: the output may then differ in details. */
function configuredSettings(
  git: string,
  repository: Repository,
  env: Env,
): Promise<readonly ConfiguredSetting[]> {
  const fixed = Object.entries(fixedGitEnvironment).filter(
    ([name]) => name !== 'GIT_CONFIG_GLOBAL' && name !== 'GIT_CONFIG_NOSYSTEM',
  );
  const environment = {
    ...Object.fromEntries(fixed),
    PATH: '/usr/bin:/bin',
    HOME: env['HOME'] ?? '/nonexistent',
    ...(env['XDG_CONFIG_HOME'] === undefined ? {} : { XDG_CONFIG_HOME: env['XDG_CONFIG_HOME'] }),
    GIT_DIR: repository.gitDirectory,
    GIT_WORK_TREE: repository.top,
  };
  const options = { cwd: repository.top, env: environment, timeout: 3_000, killSignal: 'SIGKILL' } as const;
  return new Promise((settle) => {
    execFile(git, ['config', '--list', '--show-scope', '-z'], options, (error, stdout) => {
      settle(error === null ? parseSettings(stdout) : []);
    });
  });
}

/** Pairs of a scope and an entry; an entry is its key, a line break and its value. */
function parseSettings(output: string): readonly ConfiguredSetting[] {
  const parts = output.split('\0');
  const settings: ConfiguredSetting[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [scope = '', entry = ''] = [parts[at], parts[at + 1]];
    const end = entry.indexOf('\n');
    if (scope === 'command') continue;
    const isLocal = scope !== 'global' && scope !== 'system';
    settings.push({
      key: end === -1 ? entry : entry.slice(0, end),
      value: end === -1 ? 'true' : entry.slice(end + 1),
      isLocal,
    });
  }
  return settings;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

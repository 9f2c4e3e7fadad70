import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from './cli/polypod.ts';

const exec = promisify(execFile);

interface InstalledPackage {
  readonly version: string;
  readonly license: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

/** The directories of all runtime dependencies, theirs included, as the lock file has them. */
function runtimePackages(): readonly string[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Readonly<Record<string, Partial<InstalledPackage>>>;
  };
  const found = new Set<string>();
  const add = (from: string): void => {
    for (const name of Object.keys(packages[from]?.dependencies ?? {})) {
      const parents = from.split(/(?=\/node_modules\/)/);
      const directory = [...parents.keys(), parents.length]
        .map((left) =>
          [...parents.slice(0, parents.length - left), `/node_modules/${name}`].join('').replace(/^\//, ''),
        )
        .find((candidate) => Object.hasOwn(packages, candidate));
      if (directory === undefined || found.has(directory)) continue;
      found.add(directory);
      add(directory);
    }
  };
  add('');
  return [...found];
}

/** As archive: copying thousands of files one by one takes most of a minute on a busy machine. */
async function copyRuntimePackages(directory: string): Promise<void> {
  const archive = join(directory, 'packages.tar');
  await exec('tar', ['-cf', archive, ...runtimePackages()]);
  await exec('tar', ['-xf', archive, '-C', directory]);
  rmSync(archive);
}

/** Packs the package without the names of its dependencies, which npm would fetch from a registry. */
async function packWithoutDependencies(directory: string): Promise<string> {
  await exec('npm', ['pack', '--ignore-scripts', '--pack-destination', directory]);
  const [name = ''] = readdirSync(directory).filter((file) => file.endsWith('.tgz'));
  await exec('tar', ['-xzf', join(directory, name), '-C', directory]);
  const file = join(directory, 'package/package.json');
  const { dependencies: _, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as InstalledPackage;
  writeFileSync(file, JSON.stringify(rest));
  await exec('tar', ['-czf', join(directory, name), '-C', directory, 'package']);
  return join(directory, name);
}

describe('the package', () => {
  const about = JSON.parse(readFileSync('package.json', 'utf8')) as {
    exports: Record<string, string>;
    dependencies: Record<string, string>;
  };

  it('has exactly these doors', () => {
    expect(Object.keys(about.exports)).toEqual([
      ...[
        '.',
        './client',
        './llm',
        './timeline',
        './tools',
        './worker',
        './mcp',
        './sim',
        './extensions',
        './package.json',
      ],
    ]);
  });

  it('has a row in docs/dependencies.md for each runtime dependency, with its version, licence and number of dependencies', () => {
    const page = readFileSync('docs/dependencies.md', 'utf8');
    const rows = [...page.matchAll(/^\| `([^`]+)` .*$/gm)].map(([row, name = '']) => ({ row, name }));
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(about.dependencies));
    for (const { row, name } of rows) {
      const cells = row.split('|').map((cell) => cell.trim());
      const installed = JSON.parse(
        readFileSync(join('node_modules', name, 'package.json'), 'utf8'),
      ) as InstalledPackage;
      expect([name, cells[2], cells[5], cells[7]]).toEqual([
        name,
        about.dependencies[name],
        installed.license,
        String(Object.keys(installed.dependencies ?? {}).length),
      ]);
      expect([name, installed.version]).toEqual([name, about.dependencies[name]]);
      for (const script of ['preinstall', 'install', 'postinstall'])
        expect([name, installed.scripts?.[script]]).toEqual([name, undefined]);
      const [, decision = ''] = /\((decisions\/[\w-]+\.md)\)/.exec(row) ?? [];
      expect(readFileSync(join('docs', decision), 'utf8').toLowerCase()).toContain(
        name.replace(/^@\w+\//, '').replace('.js', ''),
      );
    }
  });

  it('contains every page that its pages link to', async () => {
    const { stdout } = await exec('npm', ['pack', '--json', '--dry-run', '--ignore-scripts']);
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const packed = new Set(files.map(({ path }) => path));
    const directories = new Set(files.map(({ path }) => dirname(path)));
    const pages = [...packed].filter((path) => path.endsWith('.md'));
    expect(pages).toContain('docs/permissions.md');
    const dead = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)]
        .map(([, link = '']) => normalize(join(dirname(page), link)).replace(/\/$/, ''))
        .filter((path) => !packed.has(path) && !directories.has(path))
        .map((path) => `${page}: ${path}`),
    );
    expect(dead).toEqual([]);
  });

  it('can be installed globally from its tarball: the command shows what to do next, answers and serves', async () => {
    const directory = temporaryDirectory();
    const tarball = await packWithoutDependencies(directory);
    const prefix = join(directory, 'prefix');
    const env = { PATH: process.env.PATH, HOME: directory, OLLAMA_HOST: 'http://127.0.0.1:9' };
    await exec(
      'npm',
      ['install', '-g', '--offline', '--no-audit', '--no-fund', '--prefix', prefix, tarball],
      {
        env,
      },
    );
    const installed = join(prefix, 'lib/node_modules/polypod');
    await copyRuntimePackages(installed);
    const polypod = (...args: readonly string[]) =>
      exec(join(prefix, 'bin/polypod'), args, { cwd: directory, env });
    const { stdout: welcome } = await polypod();
    expect(welcome).toMatch(/Next steps:\n {2}polypod ask /);
    expect((await polypod('ask', '-q', 'hello')).stdout).toContain('You asked: hello');
    await polypod('serve', '--detach');
    expect((await polypod('run', '-q', 'What is here?')).stdout).not.toBe('');
    await polypod('stop');
    expect(existsSync(join(installed, 'docs/permissions.md'))).toBe(true);
  }, 400_000);

  it('works as packed: every door opens and the command runs, without any install script', async () => {
    const directory = temporaryDirectory();
    const { stdout } = await exec('npm', [
      'pack',
      '--json',
      '--ignore-scripts',
      '--pack-destination',
      directory,
    ]);
    const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    expect(
      files.filter(
        ({ path }) =>
          !/^(?:dist\/|web\/|docs\/|bench\/RESULTS\.md|[A-Z]+\.md|LICENSE|package\.json)/.test(path),
      ),
    ).toEqual([]);

    const home = join(directory, 'node_modules/polypod');
    mkdirSync(home, { recursive: true });
    await exec('tar', ['-xzf', join(directory, filename), '-C', home, '--strip-components=1']);
    await copyRuntimePackages(directory);
    const doors = Object.keys(about.exports).filter((door) => door !== './package.json');
    const names = doors.map((door) => `polypod${door.slice(1)}`);
    const lines = names.map(
      (name) => `console.log('${name}', Object.keys(await import('${name}')).length > 0);`,
    );
    writeFileSync(join(directory, 'doors.mjs'), lines.join('\n'));
    const opened = await exec(process.execPath, ['doors.mjs'], { cwd: directory });
    expect(opened.stdout).toBe(names.map((name) => `${name} true\n`).join(''));
    const help = await exec(process.execPath, [join(home, 'dist/cli/main.js'), '--help'], { cwd: directory });
    expect(help.stdout).toContain('polypod COMMAND');
    const answer = await exec(
      process.execPath,
      [join(home, 'dist/cli/main.js'), 'ask', '--offline', 'hello'],
      {
        cwd: directory,
        env: { PATH: process.env.PATH, HOME: directory },
      },
    );
    expect(answer.stdout).toContain('You asked: hello');
  });
});

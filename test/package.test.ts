import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
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

/** The directories of all runtime dependencies, theirs included, as npm has installed them. */
async function runtimePackages(): Promise<readonly string[]> {
  const { stdout } = await exec('npm', ['ls', '--omit=dev', '--all', '--parseable', '--no-workspaces']);
  return stdout
    .trim()
    .split('\n')
    .filter((path) => path.includes('node_modules'));
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
      files.filter(({ path }) => !/^(?:dist\/|README|CHANGELOG|SECURITY|LICENSE|package\.json)/.test(path)),
    ).toEqual([]);

    const home = join(directory, 'node_modules/polypod');
    mkdirSync(home, { recursive: true });
    await exec('tar', ['-xzf', join(directory, filename), '-C', home, '--strip-components=1']);
    // As archive: copying thousands of files one by one takes most of a minute on a busy machine.
    const archive = join(directory, 'packages.tar');
    await exec('tar', ['-cf', archive, ...(await runtimePackages()).map((path) => relative('.', path))]);
    await exec('tar', ['-xf', archive, '-C', directory]);
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

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from './cli/polypod.ts';

const exec = promisify(execFile);

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

  it('has exactly these runtime dependencies, each with a page on why', () => {
    expect(Object.keys(about.dependencies)).toEqual(['@modelcontextprotocol/client', 'jiti', 'yaml']);
    const pages = readdirSync('docs/decisions').map((page) =>
      readFileSync(join('docs/decisions', page), 'utf8'),
    );
    for (const name of Object.keys(about.dependencies)) expect(pages.join('\n')).toContain(`\`${name}\``);
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
    for (const name of Object.keys(about.dependencies)) {
      cpSync(resolve('node_modules', name), join(directory, 'node_modules', name), { recursive: true });
    }
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
  });
});

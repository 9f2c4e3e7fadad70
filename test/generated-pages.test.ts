import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const exec = promisify(execFile);

describe('the generated pages', () => {
  it('are those of the built program; npm run docs writes them', async () => {
    // On a difference, the script fails with the name of the page and the command.
    expect(await exec(process.execPath, ['scripts/generate-pages.mjs', '--check'])).toEqual({
      stdout: '',
      stderr: '',
    });
  });

  it('describe every parameter of every tool', () => {
    const page = readFileSync('docs/tools.md', 'utf8');
    const rows = [...page.matchAll(/^\| `([^`]+)` +\| (.+?) +\| (?:yes|no) +\| (.*?) +\|$/gm)];
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter(([, , type, meaning]) => type === '' || meaning === '').map(([row]) => row)).toEqual(
      [],
    );
  });
});

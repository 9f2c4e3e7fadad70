import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { type Files, type LogLine, type Range, readLines } from '../../src/store/index.ts';

/** Gone when the test is over. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export async function linesOf(files: Files, path: string, range?: Range): Promise<readonly LogLine[]> {
  const lines: LogLine[] = [];
  for await (const some of readLines(files, path, range)) lines.push(...some);
  return lines;
}

/** The records of a log; a line that cannot be trusted fails the test. */
export async function textsOf(files: Files, path: string, range?: Range): Promise<readonly string[]> {
  return (await linesOf(files, path, range)).map((line) => {
    if (line.status === 'ok') return line.text;
    throw new Error(`${line.status} line at ${line.offset}`);
  });
}

/** A directory with the store compiled in `store/`, so that processes of their own can load it; gone after the suite. */
export function compiledStore(): string {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-store-built-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const config = {
    extends: resolve('tsconfig.json'),
    compilerOptions: {
      rootDir: resolve('src'),
      outDir: directory,
      typeRoots: [resolve('node_modules/@types')],
      declaration: false,
      sourceMap: false,
      noCheck: true,
    },
    include: [resolve('src/store')],
  };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  execFileSync(process.execPath, [
    resolve('node_modules/typescript/bin/tsc'),
    '-p',
    join(directory, 'tsconfig.json'),
  ]);
  return directory;
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Files, type LogLine, type Range, readLines } from '../../src/store/index.ts';

/** A temporary directory that is removed after the test. */
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

/** The records of a log; an invalid line fails the test. */
export async function textsOf(files: Files, path: string, range?: Range): Promise<readonly string[]> {
  return (await linesOf(files, path, range)).map((line) => {
    if (line.status === 'ok') return line.text;
    throw new Error(`${line.status} line at ${line.offset}`);
  });
}

import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** The folders of what a module loads before its first line runs: what is imported later costs nothing at the start. */
function foldersLoadedWith(path: string): readonly string[] {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [statement, specifier = ''] of text.matchAll(
      /^(?:import|export)\b[^;]*?\bfrom '(\.[^']+)';/gm,
    ))
      if (!/^(?:import|export) type\b/.test(statement)) visit(resolve(dirname(file), specifier));
  };
  visit(resolve(path));
  return [...new Set([...seen].map((file) => relative('src', file).split('/')[0] ?? ''))].toSorted();
}

test('polypod --version loads nothing but the command line itself', () => {
  expect(foldersLoadedWith('src/cli/main.ts')).toEqual(['base', 'cli']);
});

test.each(['ls', 'completion', 'log', 'logs'])(
  'polypod %s loads no agent, no provider and no tool',
  (name) => {
    const heavy = ['llm', 'mcp', 'protocols', 'registry.ts', 'sim', 'timeline', 'tools', 'wire', 'worker'];
    expect(foldersLoadedWith(`src/cli/${name}.ts`).filter((folder) => heavy.includes(folder))).toEqual([]);
  },
);

test('polypod ls loads no store either: a list of sessions is one file to read', () => {
  expect(foldersLoadedWith('src/cli/commands/ls.ts')).toEqual(['base', 'cli', 'daemon', 'pod']);
});

test('what is loaded at once is seen: a run needs much more', () => {
  expect(foldersLoadedWith('src/cli/commands/run/run.ts')).toEqual(expect.arrayContaining(['llm', 'wire']));
});

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '../src/base/index.ts';
import { exportsOf } from './source-tree.ts';

/** What a program can import, by the name it imports it from: `{ "polypod/llm": "llm/index" }`. */
const ENTRY_POINTS = entryPoints(JSON.parse(readFileSync('package.json', 'utf8')));

describe('the public API', () => {
  it('has only the names in public-api.txt (after a change: vitest run test/public-api.test.ts --update)', async () => {
    const lists = ENTRY_POINTS.map(async ([name, file]) => {
      const names = exportsOf(readFileSync(`src/${file}.ts`, 'utf8'));
      const values = await builtNames(file);
      return [name, ...names.map((each) => `  ${values.includes(each) ? '' : 'type '}${each}`)].join('\n');
    });
    await expect(`${(await Promise.all(lists)).join('\n\n')}\n`).toMatchFileSnapshot('public-api.txt');
  });

  it.each(ENTRY_POINTS)('%s exports the same names when it is built', async (_, file) => {
    const names = exportsOf(readFileSync(`src/${file}.ts`, 'utf8'));
    expect((await builtNames(file)).filter((name) => !names.includes(name))).toEqual([]);
  });
});

async function builtNames(file: string): Promise<readonly string[]> {
  const built = pathToFileURL(resolve('dist', `${file}.js`)).href;
  return Object.keys((await import(built)) as JsonObject);
}

function entryPoints(manifest: unknown): readonly (readonly [name: string, file: string])[] {
  const { exports } = isObject(manifest) ? manifest : {};
  return Object.entries(isObject(exports) ? exports : {}).flatMap(([path, target]) => {
    const file = /^\.\/dist\/(.*)\.js$/.exec(String(target))?.[1];
    return file === undefined ? [] : [[`polypod${path.slice(1)}`, file] as const];
  });
}

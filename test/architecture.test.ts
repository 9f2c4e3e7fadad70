import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const BELOW_SETUP = [
  'base',
  'wire',
  'llm',
  'timeline',
  'tools',
  'mcp',
  'extensions',
  'worker',
  'store',
  'audit',
  'pod',
  'reminders',
  'delegation',
  'protocols',
  'client',
  'sim',
  'registry',
];

/** Who may import whom, type imports included. What is above is passed down as an argument. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  base: [],
  wire: ['base'],
  llm: ['base', 'wire'],
  timeline: ['llm'],
  tools: ['base', 'llm'],
  mcp: ['base', 'llm', 'tools'],
  extensions: ['base', 'tools'],
  worker: ['base', 'llm', 'timeline', 'tools'],
  store: ['base'],
  audit: ['base', 'store'],
  pod: ['base', 'llm', 'store', 'audit', 'worker', 'tools'],
  reminders: ['base', 'pod'],
  delegation: ['base', 'pod'],
  protocols: ['base', 'wire', 'audit', 'pod', 'reminders', 'delegation'],
  client: ['base', 'wire'],
  sim: ['base', 'wire', 'llm'],
  registry: ['base', 'llm', 'protocols', 'tools', 'sim'],
  terminal: ['base'],
  setup: BELOW_SETUP,
  control: ['base', 'wire', 'pod', 'protocols', 'setup'],
  daemon: [...BELOW_SETUP, 'setup', 'control'],
  cli: [...BELOW_SETUP, 'setup', 'control', 'daemon', 'terminal'],
  index: ['base', 'llm', 'timeline', 'sim', 'worker', 'pod', 'protocols', 'registry', 'setup', 'daemon'],
};

/** Second ways into a folder, for those to whom the whole of it is too much: `polypod ls` needs no worker. */
const LIGHT_DOORS = ['src/pod/sessions.ts'];

/** Folders whose subfolders are siblings that must not know each other. */
const SIBLINGS = ['llm', 'protocols'];

interface Source {
  readonly path: string;
  readonly text: string;
}

describe('the dependency rule', () => {
  const sources = readSources('src');

  it('sees the whole tree', () => {
    expect(sources.length).toBeGreaterThan(60);
    expect(new Set(sources.map(({ path }) => folderOf(path)))).toEqual(new Set(Object.keys(ALLOWED)));
  });

  it('holds for every import', () => {
    expect(sources.flatMap(violations)).toEqual([]);
  });

  it('finds no folder with more than 22 files', () => {
    const counts = new Map<string, number>();
    for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 22)).toEqual([]);
  });

  it('gives every folder a one-sentence header', () => {
    const without = sources
      .filter(({ path }) => path.endsWith('/index.ts'))
      .filter(({ text }) => !/^\/\*\*(?: |\n \* )[A-Z][^\n]*\.(?: \*\/)?\n/.test(text));
    expect(without.map(({ path }) => path)).toEqual([]);
  });

  it('keeps the environment and the console at the rim', () => {
    const named = (word: RegExp) =>
      sources.filter(({ text }) => word.test(codeOf(text))).map(({ path }) => path);
    expect(named(/[^']\bprocess\.env\b/)).toEqual(['src/cli/main.ts']);
    expect(named(/\bconsole\./)).toEqual([]);
    expect(named(/\bprocess\.exit\b/)).toEqual(['src/cli/main.ts']);
  });
});

describe('the dependency rule fails on planted violations', () => {
  const planted = (path: string, line: string) => violations({ path, text: `${line}\n` });

  it.each([
    ['src/base/errors.ts', "import { connect } from '../llm/index.ts';", 'base may not import llm'],
    [
      'src/timeline/timeline.ts',
      "import type { Pod } from '../pod/index.ts';",
      'timeline may not import pod',
    ],
    ['src/store/log.ts', "export { x } from '../worker/index.ts';", 'store may not import worker'],
    [
      'src/protocols/rpc/encode/encode.ts',
      "import { connect } from '../../../llm/index.ts';",
      'protocols may not import llm',
    ],
    ['src/worker/turn.ts', "const x = await import('../pod/index.ts');", 'worker may not import pod'],
    ['src/tools/bash.ts', "type T = import('../worker/index.ts').T;", 'tools may not import worker'],
    ['src/llm/gemini/step.ts', "import { x } from '../ollama/wire.ts';", 'siblings'],
    ['src/protocols/rpc/wire.ts', "import { x } from '../hld/wire.ts';", 'siblings'],
    ['src/protocols/door.ts', "import type { x } from './rpc/wire.ts';", 'no door'],
    ['src/sim/server.ts', "import { x } from '../wire/sse.ts';", 'index.ts'],
    ['src/llm/connect.ts', "import '../cli/main.ts';", 'llm may not import cli'],
  ])('%s: %s', (path, line, reason) => {
    expect(planted(path, line).join()).toContain(reason);
  });

  it('and passes what is allowed', () => {
    expect(planted('src/llm/gemini/step.ts', "import { x } from '../answer.ts';")).toEqual([]);
    expect(planted('src/llm/gemini/step.ts', "import { x } from '../../base/index.ts';")).toEqual([]);
    expect(planted('src/cli/commands/ask.ts', "import { x } from '../llm/index.ts';")).toEqual([]);
    expect(planted('src/cli/commands/ask.ts', "import { x } from 'node:fs';")).toEqual([]);
  });
});

function violations({ path, text }: Source): readonly string[] {
  return importsOf(text).flatMap((specifier) => {
    if (!specifier.startsWith('.')) return [];
    const target = relative('.', join(path, '..', specifier)).replaceAll('\\', '/');
    const [from, to] = [folderOf(path), folderOf(target)];
    const where = `${path} -> ${target}`;
    if (from !== to) {
      if (!ALLOWED[from]?.includes(to)) return [`${where}: ${from} may not import ${to}`];
      // The registry lists the siblings one by one; everybody else enters a folder by its door.
      const isDoor =
        target === `src/${to}/index.ts` || target === `src/${to}.ts` || LIGHT_DOORS.includes(target);
      const isSiblingsDoor =
        (from === 'registry' || from === 'index') &&
        /^src\/(?:llm\/[^/]+\/index|protocols\/[^/]+\/(?:index|door))\.ts$/.test(target);
      // The daemon uses most of the setup; commands that start fast enter it by the light index.
      const isPartOfSetup = from === 'daemon' && /^src\/setup\/[^/]+\/index\.ts$/.test(target);
      return isDoor || isSiblingsDoor || isPartOfSetup
        ? []
        : [`${where}: folders are entered by their index.ts`];
    }
    const [mine, other] = [siblingOf(path), siblingOf(target)];
    if (path === 'src/protocols/door.ts' && other) return [`${where}: the shared file knows no door`];
    return mine && other && mine !== other ? [`${where}: siblings do not know each other`] : [];
  });
}

/** Without its comments. */
function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
}

function importsOf(text: string): readonly string[] {
  return [...codeOf(text).matchAll(/(?:\bfrom\s*|\bimport\s*\(\s*|^\s*import\s+)(['"])([^'"]+)\1/gm)].map(
    ([, , path]) => path ?? '',
  );
}

function folderOf(path: string): string {
  return path.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

function siblingOf(path: string): string | undefined {
  const [, folder = '', sibling, file] = path.split('/');
  return SIBLINGS.includes(folder) && file !== undefined ? sibling : undefined;
}

function readSources(root: string): readonly Source[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name).replaceAll('\\', '/'))
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
}

import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { codeOf, cyclesIn, exportsOf, importsOf, readSources, type Source } from './source-tree.ts';

const BELOW_SETUP = [
  'base',
  'wire',
  'llm',
  'timeline',
  'tools',
  'mcp',
  'extensions',
  'worker',
  'backends',
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

/** Which folder may import which, type imports included. Lower folders receive what they need as arguments. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  base: [],
  wire: ['base'],
  llm: ['base', 'wire'],
  timeline: ['llm'],
  tools: ['base', 'llm'],
  mcp: ['base', 'llm', 'tools'],
  extensions: ['base', 'tools'],
  worker: ['base', 'llm', 'timeline', 'tools'],
  backends: ['base', 'wire', 'llm', 'tools', 'mcp', 'worker'],
  store: ['base'],
  audit: ['base', 'store'],
  pod: ['base', 'llm', 'store', 'audit', 'worker', 'backends', 'tools'],
  reminders: ['base', 'pod'],
  delegation: ['base', 'llm', 'tools', 'pod'],
  protocols: ['base', 'wire', 'audit', 'pod', 'reminders', 'delegation'],
  // Of protocols only the message types of the Pod Protocol, as LIGHT_ENTRIES names them.
  client: ['base', 'wire', 'protocols'],
  sim: ['base', 'wire', 'llm'],
  registry: ['base', 'llm', 'backends', 'protocols', 'tools', 'sim'],
  terminal: ['base'],
  setup: BELOW_SETUP,
  control: ['base', 'wire', 'pod', 'protocols', 'setup'],
  daemon: [...BELOW_SETUP, 'setup', 'control'],
  cli: [...BELOW_SETUP, 'setup', 'control', 'daemon', 'terminal'],
  index: ['base', 'llm', 'timeline', 'sim', 'worker', 'pod', 'protocols', 'registry', 'setup', 'daemon'],
};

/**
 * The order of the subfolders in each folder, from low to high. A subfolder imports only subfolders before a `|` to its
 * left; those between two `|` do not import each other.
 */
const ORDER: Readonly<Record<string, string>> = {
  'src/base': 'glob text | json-schema',
  'src/backends': 'acp claude codex pi',
  'src/cli': 'args output | hosting | chat rpc | commands',
  'src/cli/chat': 'view | screen | slash',
  'src/cli/commands': 'accounts agent approvals completion config log run sessions trash | mcp task',
  'src/client': 'tasks',
  'src/daemon': 'observe sessions sockets | doctor tasks | control | start',
  'src/extensions': 'pi',
  'src/llm': 'aws google-auth | anthropic bedrock gemini ollama openai-chat openai-responses catalogue',
  'src/mcp': 'tools | connection',
  'src/pod': 'session feed catalogue | repair view history | journal | rewind | live | host',
  'src/pod/live': 'run | commands',
  'src/protocols': 'acp hld pod rpc tasks',
  'src/protocols/acp': 'encode | client-side | sessions | link',
  'src/protocols/hld': 'sessions | approvals | conversation | events',
  'src/protocols/pod': 'encode | sockets',
  'src/protocols/rpc': 'encode export | host-side | sessions | commands | link',
  'src/protocols/tasks': 'keys | work | http webhooks | stream',
  'src/setup': 'paths | config | models project | agents',
  'src/sim': 'script | provider-apis | cassettes',
  'src/sim/provider-apis': 'anthropic bedrock gemini ollama openai-chat | openai-responses',
  'src/terminal': 'keys markdown | screen | editor',
  'src/tools': 'text | process | files policy web | search sandbox read-only-run | bash',
  'src/tools/policy': 'shell | git',
  'src/tools/sandbox': 'workspace',
  'src/wire': 'http unix',
};

/** Second entry points of a folder, for callers that need only a part of it: `polypod ls` needs no worker. */
const LIGHT_ENTRIES = ['src/pod/sessions.ts', 'src/protocols/pod/wire.ts'];

/** A folder with more files than this holds more than one concept. */
const MOST_FILES = 22;

describe('the sources', () => {
  const sources = readSources('src');

  it('are in the folders that have rules', () => {
    expect(sources.length).toBeGreaterThan(60);
    expect(new Set(sources.map(({ path }) => folderOf(path)))).toEqual(new Set(Object.keys(ALLOWED)));
  });

  it('import only what their folder may import', () => {
    expect(sources.flatMap(forbiddenImports)).toEqual([]);
  });

  it('of doors do not read the entries of session files', () => {
    const doors = sources.filter(({ path }) => path.startsWith('src/protocols/'));
    expect(doors.flatMap((door) => entryImports(door, entryNames(sources)))).toEqual([]);
  });

  it('are in subfolders with a declared order', () => {
    expect(undeclaredSubfolders(sources)).toEqual([]);
  });

  it('import only subfolders below their own', () => {
    expect(sources.flatMap(importsAgainstOrder)).toEqual([]);
  });

  it('have no import cycles, not even by type imports', () => {
    expect(importCycles(sources)).toEqual([]);
  });

  it('do not connect two subfolders in a cycle through a file beside them', () => {
    expect(Object.keys(ORDER).flatMap((folder) => cyclesBesideSubfolders(folder, sources))).toEqual([]);
  });

  it(`are at most ${MOST_FILES} in one folder`, () => {
    expect(crowdedFolders(sources)).toEqual([]);
  });

  it('export by name', () => {
    expect(sources.flatMap(starExports)).toEqual([]);
  });

  it('have names in plain words', () => {
    expect(sources.flatMap((source) => bannedNames(source))).toEqual([]);
  });

  it('begin every index with a one-sentence header', () => {
    const without = sources
      .filter(({ path }) => path.endsWith('/index.ts'))
      .filter(({ text }) => !/^\/\*\*(?: |\n \* )[A-Z][^\n]*\.(?: \*\/)?\n/.test(text));
    expect(without.map(({ path }) => path)).toEqual([]);
  });

  it('use the environment, the console and the exit of the process in cli/main.ts only', () => {
    const named = (word: RegExp) =>
      sources.filter(({ text }) => word.test(codeOf(text))).map(({ path }) => path);
    expect(named(/[^']\bprocess\.env\b/)).toEqual(['src/cli/main.ts']);
    expect(named(/\bconsole\./)).toEqual([]);
    expect(named(/\bprocess\.exit\b/)).toEqual(['src/cli/main.ts']);
  });
});

describe('the tests', () => {
  it('have names in plain words', () => {
    expect(readSources('test').flatMap((source) => bannedNames(source, BANNED_IN_TESTS))).toEqual([]);
  });
});

describe('the rules find planted violations', () => {
  const forbidden = (path: string, line: string) => forbiddenImports({ path, text: `${line}\n` });

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
    ['src/sim/server.ts', "import { x } from '../wire/sse.ts';", 'index.ts'],
    ['src/llm/connect.ts', "import '../cli/main.ts';", 'llm may not import cli'],
  ])('%s: %s', (path, line, reason) => {
    expect(forbidden(path, line).join()).toContain(reason);
  });

  it('and pass what is allowed', () => {
    expect(forbidden('src/llm/gemini/step.ts', "import { x } from '../answer.ts';")).toEqual([]);
    expect(forbidden('src/llm/gemini/step.ts', "import { x } from '../../base/index.ts';")).toEqual([]);
    expect(forbidden('src/cli/commands/ask.ts', "import { x } from '../../llm/index.ts';")).toEqual([]);
    expect(forbidden('src/cli/commands/ask.ts', "import { x } from 'node:fs';")).toEqual([]);
  });

  it.each([
    ['src/llm/gemini/step.ts', "import { x } from '../ollama/wire.ts';", 'gemini may not import ollama'],
    ['src/protocols/rpc/wire.ts', "import { x } from '../hld/wire.ts';", 'rpc may not import hld'],
    ['src/pod/journal/journal.ts', "import type { X } from '../live/x.ts';", 'journal may not import live'],
    ['src/cli/output/table.ts', "const x = import('../commands/ls.ts');", 'output may not import commands'],
    ['src/tools/policy/shell/lexer.ts', "export type { X } from '../git/x.ts';", 'shell may not import git'],
  ])('against the order: %s: %s', (path, line, reason) => {
    expect(importsAgainstOrder({ path, text: line }).join()).toContain(reason);
  });

  it.each([
    "import type { Entry } from '../../../pod/index.ts';",
    "import { type Host, type SessionTree as Tree } from '../../../pod/index.ts';",
    "import {\n  APPROVAL_REQUEST,\n} from '../../../pod/index.ts';",
    "type E = import('../../../pod/index.ts').Entry;",
  ])('a door that reads session files: %s', (text) => {
    const names = entryNames(readSources('src'));
    expect(entryImports({ path: 'src/protocols/hld/methods.ts', text }, names)).toHaveLength(1);
  });

  it('a subfolder without an order', () => {
    const planted = { path: 'src/tools/text/words/split.ts', text: '' };
    expect(undeclaredSubfolders([...readSources('src'), planted])).toEqual(['src/tools/text: words']);
  });

  it('a cycle of type imports', () => {
    const planted: readonly Source[] = [
      { path: 'src/base/a.ts', text: "import type { B } from './b.ts';" },
      { path: 'src/base/b.ts', text: "import { c } from './c.ts';" },
      { path: 'src/base/c.ts', text: "export type { A } from './a.ts';" },
    ];
    expect(importCycles(planted)).toEqual([
      'src/base/a.ts -> src/base/b.ts -> src/base/c.ts -> src/base/a.ts',
    ]);
  });

  it('a cycle through a file beside the subfolders', () => {
    const planted: readonly Source[] = [
      { path: 'src/wire/http/a.ts', text: "import { x } from '../x.ts';" },
      { path: 'src/wire/x.ts', text: "import type { B } from './http/b.ts';" },
      { path: 'src/wire/http/b.ts', text: '' },
    ];
    expect(importCycles(planted)).toEqual([]);
    expect(cyclesBesideSubfolders('src/wire', planted)).toEqual(['src/wire: http/ -> x.ts -> http/']);
  });

  it('a crowded folder', () => {
    const planted = Array.from({ length: MOST_FILES + 1 }, (_, at) => ({ path: `src/a/${at}.ts`, text: '' }));
    expect(crowdedFolders(planted)).toEqual([`src/a has ${MOST_FILES + 1} files`]);
  });

  it.each(["export * from './a.ts';", "export type * from './a.ts';", "export * as a from './a.ts';"])(
    '%s',
    (text) => {
      expect(starExports({ path: 'src/base/index.ts', text })).toEqual(['src/base/index.ts']);
    },
  );

  it.each([
    ['src/pod/host/residents.ts', ''],
    ['src/pod/host/cache.ts', 'export class HouseRules {}'],
    ['src/pod/host/cache.ts', 'export const toldEvents = 1;'],
    ['src/pod/host/cache.ts', "export { type ModelWish } from './a.ts';"],
    ['src/pod/go-on.ts', ''],
    ['src/pod/utils.ts', ''],
  ])('banned words: %s %s', (path, text) => {
    expect(bannedNames({ path, text })).toHaveLength(1);
  });

  it.each([
    ['test/pod/stage.ts', ''],
    ['test/pod/fixture.ts', 'export class HeardEvents {}'],
    ['test/pod/fixture.ts', 'export async function hearType() {}'],
  ])('banned words in tests: %s %s', (path, text) => {
    expect(bannedNames({ path, text }, BANNED_IN_TESTS)).toHaveLength(1);
  });

  it('but not parts of other words', () => {
    const text = 'export const warehouse = 1, background = 2;\nexport type Wished = 1;';
    expect(bannedNames({ path: 'src/pod/background.ts', text })).toEqual([]);
  });
});

function forbiddenImports(source: Source): readonly string[] {
  return importsOf(source).flatMap((target) => {
    const [from, to] = [folderOf(source.path), folderOf(target)];
    if (from === to) return [];
    const where = `${source.path} -> ${target}`;
    if (!ALLOWED[from]?.includes(to)) return [`${where}: ${from} may not import ${to}`];
    const isIndex =
      target === `src/${to}/index.ts` || target === `src/${to}.ts` || LIGHT_ENTRIES.includes(target);
    // The registry lists providers, doors and back ends one by one; all other folders import the index.
    const isListed =
      (from === 'registry' || from === 'index') &&
      /^src\/(?:(?:llm|backends)\/[^/]+\/index|protocols\/[^/]+\/(?:index|door))\.ts$/.test(target);
    // The daemon uses most of the setup; commands that start fast enter it by the light index.
    const isPartOfSetup = from === 'daemon' && /^src\/setup\/[^/]+\/index\.ts$/.test(target);
    return isIndex || isListed || isPartOfSetup ? [] : [`${where}: folders are entered by their index.ts`];
  });
}

/** What only those may use who read session files: entries, trees, facts. */
const ENTRY_FILES = ['entry', 'fact', 'facts', 'from-end', 'parse', 'tree'];

function entryNames(sources: readonly Source[]): ReadonlySet<string> {
  const files = ENTRY_FILES.map((name) => `src/pod/session/${name}.ts`);
  return new Set(
    sources
      .filter(({ path }) => files.includes(path))
      .flatMap(({ text }) => [
        ...codeOf(text).matchAll(/^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm),
      ])
      .map(([, name = '']) => name),
  );
}

/** The names that a file imports from the pod and must not. */
function entryImports({ path, text }: Source, forbidden: ReadonlySet<string>): readonly string[] {
  const code = codeOf(text);
  const lists = [...code.matchAll(/\{([^{}]*)\}\s*from\s*['"][^'"]*\/pod\/[^'"]*['"]/g)].flatMap(
    ([, names = '']) => names.split(','),
  );
  const types = [...code.matchAll(/import\(['"][^'"]*\/pod\/[^'"]*['"]\)\.(\w+)/g)].map(
    ([, name = '']) => name,
  );
  return [...lists, ...types]
    .map((name) => /^\s*(?:type\s+)?(\w+)/.exec(name)?.[1] ?? '')
    .filter((name) => forbidden.has(name))
    .map((name) => `${path} imports ${name}`);
}

function undeclaredSubfolders(sources: readonly Source[]): readonly string[] {
  const found = new Map<string, Set<string>>();
  for (const { path } of sources)
    for (let folder = posix.dirname(path); posix.dirname(folder) !== 'src' && folder !== 'src'; ) {
      const parent = posix.dirname(folder);
      found.set(parent, (found.get(parent) ?? new Set()).add(posix.basename(folder)));
      folder = parent;
    }
  const folders = new Set([...found.keys(), ...Object.keys(ORDER)]);
  return [...folders].flatMap((folder) => {
    const declared = layersOf(folder).flat();
    const actual = [...(found.get(folder) ?? [])];
    const missing = actual.filter((name) => !declared.includes(name));
    const unknown = declared.filter((name) => !actual.includes(name));
    return [...missing, ...unknown].map((name) => `${folder}: ${name}`);
  });
}

function importsAgainstOrder(source: Source): readonly string[] {
  return importsOf(source).flatMap((target) =>
    Object.keys(ORDER).flatMap((folder) => {
      const [from, to] = [subfolderOf(folder, source.path), subfolderOf(folder, target)];
      if (from === undefined || to === undefined || from === to) return [];
      const layers = layersOf(folder);
      const layer = (name: string) => layers.findIndex((names) => names.includes(name));
      return layer(to) < layer(from) ? [] : [`${source.path} -> ${target}: ${from} may not import ${to}`];
    }),
  );
}

function importCycles(sources: readonly Source[]): readonly string[] {
  const graph = new Map(sources.map((source) => [source.path, importsOf(source)]));
  return cyclesIn(graph).map((cycle) => cycle.join(' -> '));
}

/** Cycles in the graph whose nodes are the subfolders of a folder and the single files beside them. */
function cyclesBesideSubfolders(folder: string, sources: readonly Source[]): readonly string[] {
  const graph = new Map<string, Set<string>>();
  for (const source of sources) {
    const from = partOf(folder, source.path);
    if (from === undefined) continue;
    const parts = graph.get(from) ?? new Set();
    for (const to of importsOf(source).flatMap((target) => partOf(folder, target) ?? []))
      if (to !== from) parts.add(to);
    graph.set(from, parts);
  }
  return cyclesIn(new Map([...graph].map(([part, parts]) => [part, [...parts]]))).map(
    (cycle) => `${folder}: ${cycle.join(' -> ')}`,
  );
}

function crowdedFolders(sources: readonly Source[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { path } of sources) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > MOST_FILES)
    .map(([folder, count]) => `${folder} has ${count} files`);
}

function starExports({ path, text }: Source): readonly string[] {
  return /^export (?:type )?\*/m.test(codeOf(text)) ? [path] : [];
}

/** Words of a private vocabulary, which a new reader does not understand. */
const BANNED_WORDS = new Set(
  (
    'desk desks entrance glance ground heard hear hears house latecomer meant passage place places resident residents ' +
    'said say says scene scenes seat seats surroundings tell tells told trunk untold waiver wish wishes workplace'
  ).split(' '),
);

/** Also banned in the names that test files export. */
const BANNED_IN_TESTS = new Set([
  ...BANNED_WORDS,
  ...'ear ears hear hears heard say says spoken stage staged stages witness'.split(' '),
]);

/** File names that do not say what is in the file. */
const BANNED_FILES = new Set(
  (
    'ago asked beyond-title common core data given-tasks go-on helpers impl info legacy manager me meant misc next-steps ' +
    'service shared types under utils was-closed without-person'
  ).split(' '),
);

function bannedNames({ path, text }: Source, words = BANNED_WORDS): readonly string[] {
  const file = posix.basename(path, '.ts');
  return [
    ...(BANNED_FILES.has(file) || hasBannedWord(file, words) ? [path] : []),
    ...exportsOf(text)
      .filter((name) => hasBannedWord(name, words))
      .map((name) => `${path}: ${name}`),
  ];
}

function hasBannedWord(name: string, words: ReadonlySet<string>): boolean {
  return name
    .split(/[-_.]|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .some((word) => words.has(word.toLowerCase()));
}

function layersOf(folder: string): readonly (readonly string[])[] {
  return (ORDER[folder] ?? '').split('|').map((layer) => layer.split(' ').filter((name) => name !== ''));
}

function subfolderOf(folder: string, path: string): string | undefined {
  const part = partOf(folder, path);
  return part?.endsWith('/') ? part.slice(0, -1) : undefined;
}

/** The subfolder, with a slash at its end, or the file of a folder that a path leads to. */
function partOf(folder: string, path: string): string | undefined {
  if (!path.startsWith(`${folder}/`)) return undefined;
  const [part = '', ...rest] = path.slice(folder.length + 1).split('/');
  return rest.length === 0 ? part : `${part}/`;
}

function folderOf(path: string): string {
  return path.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

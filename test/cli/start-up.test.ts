import { relative, resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { bundleCli, MOMENTS } from '../../scripts/cli-bundle.mjs';

let chunks: Awaited<ReturnType<typeof bundleCli>>;

beforeAll(async () => {
  chunks = await bundleCli(resolve('src/cli/main.ts'));
});

/** The files and packages that are loaded with a module before its first line runs. Dynamic imports do not count. */
function filesLoadedWith(path: string): ReadonlySet<string> {
  const entry = chunks.find((chunk) => chunk.type === 'chunk' && chunk.facadeModuleId === resolve(path));
  if (entry === undefined) throw new Error(`${path} is not loaded on its own`);
  const loaded = new Set<string>();
  const visit = (fileName: string): void => {
    if (loaded.has(fileName)) return;
    loaded.add(fileName);
    const chunk = chunks.find((one) => one.fileName === fileName);
    if (chunk?.type === 'chunk') for (const imported of chunk.imports) visit(imported);
  };
  visit(entry.fileName);
  return loaded;
}

/** The source modules in those files. */
function modulesLoadedWith(path: string): readonly string[] {
  const loaded = filesLoadedWith(path);
  return chunks.flatMap((chunk) =>
    chunk.type === 'chunk' && loaded.has(chunk.fileName)
      ? Object.entries(chunk.modules)
          // Without rolldown's own helpers, whose ids start with a NUL.
          .filter(([id, { renderedLength }]) => renderedLength > 0 && !id.startsWith('\0'))
          .map(([id]) => relative('src', id))
      : [],
  );
}

function foldersLoadedWith(path: string): readonly string[] {
  return [...new Set(modulesLoadedWith(path).map((file) => file.split('/')[0] ?? ''))].toSorted();
}

test('polypod --version loads only the command line', () => {
  const others = modulesLoadedWith('src/cli/main.ts').filter((file) => !/^(?:base|cli)\//.test(file));
  // Errors may quote text from outside.
  expect(others).toEqual(['terminal/sanitize.ts']);
});

test.each(['ls', 'completion/completion', 'log/log', 'log/logs'])(
  'polypod %s loads no agent, no provider and no tool',
  (name) => {
    const heavy = ['llm', 'mcp', 'protocols', 'registry.ts', 'sim', 'timeline', 'tools', 'wire', 'worker'];
    expect(
      foldersLoadedWith(`src/cli/commands/${name}.ts`).filter((folder) => heavy.includes(folder)),
    ).toEqual([]);
  },
);

test('polypod ls does not load the store: it reads one file', () => {
  expect(foldersLoadedWith('src/cli/commands/ls.ts')).toEqual(['base', 'cli', 'pod', 'setup', 'terminal']);
});

test('polypod serve is ready without a provider, a pod, a tool, and what serves the clients of doors', () => {
  const loaded = new Set(MOMENTS.serve.flatMap((path) => modulesLoadedWith(`src/${path}`)));
  expect(loaded).toContain('daemon/daemon.ts');
  const late = [
    /^llm\/(?:anthropic|aws|bedrock|gemini|google-auth|ollama|openai-.*)\//,
    /^(?:mcp|sim|timeline|worker\/worker|pod\/live|tools\/(?:process|sandbox|search|web))\b/,
    /^tools\/(?:builtin-tools|bash|edit|find|grep|ls|read|write|policy\/(?:examine|guard|judge))\.ts$/,
    /^protocols\/.*\/(?:open-link|connection|rpc-session|broadcast)\.ts$/,
  ];
  expect([...loaded].filter((file) => late.some((pattern) => pattern.test(file)))).toEqual([]);
});

test('polypod run loads the packages for diffs and .gitignore on demand', () => {
  const packages = [...filesLoadedWith('src/cli/commands/run/run.ts')].filter(
    (file) => !file.endsWith('.js'),
  );
  expect(packages).toContain('node:fs');
  expect(packages.filter((name) => ['diff', 'ignore', 'picomatch'].includes(name))).toEqual([]);
});

test('the check detects eager imports: polypod run needs providers and the store', () => {
  expect(foldersLoadedWith('src/cli/commands/run/run.ts')).toEqual(expect.arrayContaining(['llm', 'store']));
});

test('the JSON Schema library is loaded by the validator thread, and by the tasks door when it opens', () => {
  const loaded = chunks.filter((chunk) => chunk.type === 'chunk');
  const importing = loaded.filter(({ imports }) => imports.some((name) => name.startsWith('ajv')));
  expect(importing.flatMap(({ modules }) => Object.keys(modules).map((id) => relative('src', id)))).toEqual(
    expect.arrayContaining(['protocols/tasks/http/validation.ts']),
  );
  for (const name of ['main', 'commands/ls', 'commands/run/run', 'commands/chat', 'commands/serve'])
    expect([...filesLoadedWith(`src/cli/${name}.ts`)].filter((file) => file.startsWith('ajv'))).toEqual([]);
});

test.each(['main', 'commands/ls', 'commands/run/run', 'commands/serve'])(
  '%s loads neither the Markdown lexer nor the highlighter',
  (name) => {
    const loaded = filesLoadedWith(`src/cli/${name}.ts`);
    expect([...loaded].filter((file) => /^(?:marked|highlight\.js)/.test(file))).toEqual([]);
  },
);

test('the chat loads the Markdown lexer, and the highlighter only for its first code block', () => {
  const loaded = filesLoadedWith('src/cli/commands/chat.ts');
  expect([...loaded].filter((file) => /^(?:marked|highlight\.js)/.test(file))).toEqual(['marked']);
});

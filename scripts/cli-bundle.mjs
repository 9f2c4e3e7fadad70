import { dirname, resolve, sep } from 'node:path';
import { rolldown } from 'rolldown';
import { Visitor } from 'rolldown/utils';

/**
 * The moments that should come soon after the start of a process, with the modules that are imported on demand before them. Modules that
 * the same moments need are one file, so a process reads few files, and nothing that it does not need. `test/cli/start-up.test.ts`
 * checks that the lists are complete.
 */
export const MOMENTS = {
  /** `polypod serve` accepts connections. */
  serve: [
    'cli/commands/serve.ts',
    'control/attach.ts',
    'control/pod-methods.ts',
    'control/server.ts',
    'daemon/daemon.ts',
    'protocols/acp/link/open-acp-door.ts',
    'protocols/hld/open-hld-door.ts',
    'protocols/pod/sockets/open-pod-door.ts',
    'protocols/rpc/link/open-rpc-door.ts',
    'setup/config/read-config.ts',
  ],
  /** `polypod --mode rpc` answers its first command. */
  rpc: [
    'cli/rpc/rpc.ts',
    'daemon/audit.ts',
    'pod/index.ts',
    'pod/live/live-pod.ts',
    'protocols/rpc/link/serve.ts',
    'protocols/rpc/sessions/first-pod.ts',
    'protocols/rpc/sessions/model-scope.ts',
    'protocols/rpc/sessions/model-selection.ts',
    'setup/agents/agents.ts',
    'setup/config/read-config.ts',
    'setup/models/connected-models.ts',
    'setup/models/model-access.ts',
    'setup/models/offered-models.ts',
    'setup/paths/data-directory.ts',
    'store/index.ts',
  ],
  /** `polypod run` has sent its prompt. */
  run: [
    'cli/commands/run/run.ts',
    'control/host-methods.ts',
    'control/link.ts',
    'control/server.ts',
    'daemon/audit.ts',
    'daemon/sessions/new-session.ts',
    'daemon/sockets/socket-guard.ts',
    'daemon/sockets/sweep-sockets.ts',
    'pod/index.ts',
    'pod/live/live-pod.ts',
    'protocols/pod/sockets/open-pod-door.ts',
    'setup/agents/agents.ts',
    'setup/config/read-config.ts',
    'setup/models/connected-models.ts',
    'setup/models/model-access.ts',
    'setup/paths/data-directory.ts',
    'store/index.ts',
  ],
  ask: [
    'cli/commands/ask.ts',
    'setup/config/read-config.ts',
    'setup/models/connected-models.ts',
    'setup/models/model-access.ts',
  ],
  /** Commands that read one file, or none. */
  ls: ['cli/commands/ls.ts', 'cli/commands/completion/completion.ts'],
  /** Commands that read session files and logs. */
  log: ['cli/commands/log/log.ts', 'cli/commands/log/logs.ts'],
  /** Commands that ask the daemon. */
  status: [
    'cli/commands/approvals/approvals.ts',
    'cli/commands/new.ts',
    'cli/commands/reload.ts',
    'cli/commands/rename.ts',
    'cli/commands/sessions/sessions.ts',
    'cli/commands/status.ts',
    'cli/commands/stop.ts',
    'control/link.ts',
  ],
};

/** Marks the copy of an index file for its dynamic imports. */
const ON_DEMAND = '?on-demand';

/**
 * A dynamic import of an index file would bind all exports of the folder to the module, and every static import of one name would load
 * them all. The dynamic import gets a module of its own instead.
 */
const separateDynamicIndexes = {
  name: 'separate-dynamic-indexes',
  async resolveId(source, importer, { kind }) {
    if (kind !== 'dynamic-import' || !/\/index\.[jt]s$/.test(source)) return null;
    const index = await this.resolve(source, importer, { skipSelf: true });
    return index && { id: index.id + ON_DEMAND };
  },
  load(id) {
    if (!id.endsWith(ON_DEMAND)) return null;
    return { code: `export * from ${JSON.stringify(id.slice(0, -ON_DEMAND.length))};`, moduleType: 'js' };
  },
};

/** The file of the bundle that imports modules of users. */
export const IMPORT_FILE = {
  fileName: 'import.js',
  code: '"use strict";module.exports=(name)=>import(name);\n',
};

/**
 * Replaces `import()` in the rendered code. Packages and modules of Node.js are required: a package that has both formats must not be
 * loaded in both. Modules of users are imported by one file that is not cached: Node.js 20 does not support `import()` in cached code.
 */
const replaceImportExpressions = {
  name: 'replace-import-expressions',
  renderChunk(code, _, { format }) {
    if (format !== 'cjs') return null;
    const imports = [];
    new Visitor({ ImportExpression: (node) => imports.push(node) }).visit(this.parse(code));
    return imports
      .toSorted((a, b) => b.start - a.start)
      .reduce((text, { start, end, source }) => {
        const call = importCall(source, text.slice(source.start, source.end));
        return text.slice(0, start) + call + text.slice(end);
      }, code);
  },
};

function importCall({ type, value }, argument) {
  if (type !== 'Literal') return `require("./${IMPORT_FILE.fileName}")(${argument})`;
  const required = `require(${argument})`;
  return value.startsWith('node:')
    ? `Promise.resolve().then(()=>${required})`
    : `Promise.resolve().then(()=>({default:${required},...${required}}))`;
}

/**
 * Bundles the command line into one chunk per group of modules that load together. Returns rolldown's output chunks.
 * @param {string} input The entry module.
 */
export async function bundleCli(input) {
  const bundle = await rolldown({
    input,
    platform: 'node',
    // Packages are installed next to Polypod, with their own licences.
    external: [/^node:/, /^[^./]/],
    // Our modules only declare things. Without this, an index file keeps every module that it re-exports.
    treeshake: { moduleSideEffects: false },
    plugins: [separateDynamicIndexes, replaceImportExpressions],
    // The program has no exports.
    preserveEntrySignatures: false,
    // A module that is loaded with a process needs no file of its own, even if another process loads it on demand.
    checks: { ineffectiveDynamicImport: false },
    // It would move shared modules into the file of one command, which all others then load.
    experimental: { chunkOptimization: false },
  });
  const first = await bundle.generate({ format: 'esm', entryFileNames: 'main.js' });
  const momentsOf = momentsByModule(first.output, input);
  const { output } = await bundle.generate({
    // CommonJS modules load in a fifth of the time of ECMAScript modules on Node.js 20, and their compiled code can be cached.
    format: 'cjs',
    strict: true,
    entryFileNames: 'main.js',
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: {
      groups: [{ name: (id) => momentsOf.get(id) ?? null, debugName: 'moments' }],
      includeDependenciesRecursively: false,
    },
    // Comments and indentation are half of the text and cost time to read. Names are kept for stack traces.
    minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
  });
  await bundle.close();
  return output;
}

/** The name of the file for each module that a moment needs. */
function momentsByModule(chunks, input) {
  const root = dirname(dirname(input)) + sep;
  const base = root + 'base' + sep;
  const needed = new Map();
  const add = (name, id) => needed.set(id, [...(needed.get(id) ?? []), name]);
  const main = new Set(modulesLoadedWith(chunks, input));
  for (const [name, paths] of Object.entries(MOMENTS)) {
    const loaded = new Set(
      paths.flatMap((path) => modulesLoadedWith(chunks, resolve(root, path.replace(/ts$/, input.slice(-2))))),
    );
    for (const id of loaded) add(name, id);
  }
  // Every command needs some of base, each another part; the folders in it are for a few commands.
  const isBase = (id) => id.startsWith(base) && !/^(?:glob|json-schema)\b/.test(id.slice(base.length));
  for (const id of chunks.flatMap(({ modules = {} }) => Object.keys(modules)))
    if (main.has(id) || isBase(id)) needed.set(id, ['base']);
  // It evaluates the others.
  needed.delete(input);
  return new Map([...needed].map(([id, names]) => [id, names.join('-')]));
}

/** The modules that are loaded with a module. Dynamic imports do not count. */
function modulesLoadedWith(chunks, id) {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const entry = chunks.find(
    ({ facadeModuleId }) => facadeModuleId === id || facadeModuleId === id + ON_DEMAND,
  );
  if (entry === undefined) throw new Error(`${id} is not imported on demand: remove it from MOMENTS`);
  const [found, waiting] = [new Set(), [entry]];
  for (let chunk = waiting.pop(); chunk !== undefined; chunk = waiting.pop()) {
    if (found.has(chunk)) continue;
    found.add(chunk);
    for (const name of chunk.imports) if (byName.has(name)) waiting.push(byName.get(name));
  }
  return [...found].flatMap(({ modules }) => Object.keys(modules));
}

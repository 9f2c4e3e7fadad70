import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** A file of the sources, with its path from the root of the project. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

/** Every TypeScript file below a folder. */
export function readSources(root: string): readonly Source[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name).replaceAll('\\', '/'))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
}

/** The text without its comments. */
export function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');
}

/** The files of the project that a file imports or exports again: values and types, static and dynamic. */
export function importsOf({ path, text }: Source): readonly string[] {
  const specifiers = codeOf(text).matchAll(
    /(?:\bfrom\s*|\bimport\s*\(\s*|^\s*import\s+)(?:(['"])([^'"]+)\1)/gm,
  );
  return [...new Set([...specifiers].map(([, , specifier = '']) => specifier))]
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => posix.join(posix.dirname(path), specifier));
}

/** The names that a file exports, sorted. `export *` is not followed: the architecture forbids it. */
export function exportsOf(text: string): readonly string[] {
  const code = codeOf(text);
  const declared = [
    ...code.matchAll(
      /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|enum|interface|type) (\w+)/gm,
    ),
  ].map(([, name = '']) => name);
  const listed = [...code.matchAll(/^export (?:type )?\{([^}]*)\}/gm)]
    .flatMap(([, list = '']) => list.split(','))
    .map((entry) => entry.trim().replace(/^type /, ''))
    .filter((entry) => entry !== '')
    .map((entry) => entry.split(' as ').at(-1)?.trim() ?? '');
  return [...new Set([...declared, ...listed])].toSorted();
}

/** Cycles of a graph, each as its nodes in the order of the edges: at least one if there is any. */
export function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const finished = new Set<string>();
  const cycles: (readonly string[])[] = [];
  const visit = (node: string, path: readonly string[]): void => {
    const start = path.indexOf(node);
    if (start >= 0) {
      cycles.push([...path.slice(start), node]);
      return;
    }
    if (finished.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...path, node]);
    finished.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return cycles;
}

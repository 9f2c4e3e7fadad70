import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSources } from './source-tree.ts';

const PAGES = ['ARCHITECTURE.md', 'AGENTS.md'];

describe('the pages for contributors', () => {
  it.each(PAGES)('%s names only paths that exist', (page) => {
    expect(missingPaths(readFileSync(page, 'utf8'))).toEqual([]);
  });

  it('find a path that does not exist', () => {
    expect(
      missingPaths('See `src/base/errors.ts`, `src/nowhere/` and `src/llm/<provider>/swim.ts`.'),
    ).toEqual(['src/nowhere/', 'src/llm/<provider>/swim.ts']);
  });
});

describe('ARCHITECTURE.md', () => {
  const page = readFileSync('ARCHITECTURE.md', 'utf8');

  it('describes every folder of the sources', () => {
    const folders = new Set(readSources('src').map(({ path }) => path.slice(0, path.lastIndexOf('/') + 1)));
    const undescribed = [...folders].filter((folder) => folder !== 'src/' && !isDescribed(page, folder));
    expect(undescribed).toEqual([]);
  });

  it('has diagrams whose nodes are all declared, and whose edges connect two nodes', () => {
    const diagrams = mermaidIn(page);
    expect(diagrams.length).toBeGreaterThanOrEqual(4);
    expect(diagrams.flatMap(diagramProblems)).toEqual([]);
  });

  it('finds mistakes in planted diagrams', () => {
    expect(diagramProblems('flowchart TD\n  a[One] --> b[Two]\n  b --> c')).toEqual(['c is not declared']);
    expect(diagramProblems('flowchart TD\n  a[One] -->')).toEqual(['a[One] -->: not understood']);
    expect(diagramProblems('sequenceDiagram\n  participant a\n  a->>b: hi')).toEqual(['b is not declared']);
    expect(diagramProblems('pie\n')).toEqual(['pie: unknown diagram']);
  });
});

/** The paths in code spans. A part in angle brackets matches any name. */
function missingPaths(page: string): readonly string[] {
  const named = [...page.matchAll(/`((?:src|test|docs|bench|scripts)\/[^`\s]*)`/g)].map(
    ([, path = '']) => path,
  );
  return [...new Set(named)].filter((path) => !exists('.', path.split('/').filter(Boolean)));
}

function exists(root: string, [part, ...rest]: readonly string[]): boolean {
  if (part === undefined) return existsSync(root);
  if (!part.startsWith('<')) return existsSync(join(root, part)) && exists(join(root, part), rest);
  return readdirSync(root).some((name) => exists(join(root, name), rest));
}

/** By its path, or as `name/` in the paragraph or list of its parent folder. */
function isDescribed(page: string, folder: string): boolean {
  const parts = folder.split('/').filter(Boolean);
  const name = parts.at(-1) ?? '';
  const parent = `${parts.slice(0, -1).join('/')}/`;
  const isListed = page
    .split('\n')
    .some((line) => line.includes(`\`${parent}`) && line.includes(`\`${name}/\``));
  return page.includes(`\`${folder}\``) || isListed;
}

function mermaidIn(page: string): readonly string[] {
  return [...page.matchAll(/^```mermaid\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
}

/** What is wrong with a diagram, as far as can be seen without a renderer. */
function diagramProblems(diagram: string): readonly string[] {
  const [kind = '', ...lines] = diagram.split('\n').map((line) => line.trim());
  const statements = lines.filter(
    (line) => line !== '' && !/^(?:subgraph\b|end$|Note |loop |alt |else |opt )/.test(line),
  );
  if (kind === 'sequenceDiagram') return sequenceProblems(statements);
  if (kind.startsWith('flowchart ')) return flowchartProblems(statements);
  return [`${kind}: unknown diagram`];
}

const NODE = /(\w+)(?:\[[^\]]+\]|\{[^}]+\}|\([^)]+\))?/;
const EDGE = new RegExp(`^${NODE.source} (?:-->|-\\.->)(?:\\|[^|]+\\|)? ${NODE.source}$`);

function flowchartProblems(statements: readonly string[]): readonly string[] {
  const declared = new Set(
    statements.flatMap((line) => [...line.matchAll(/(\w+)[[({]/g)].map(([, name = '']) => name)),
  );
  return statements.flatMap((line) => {
    const names = EDGE.exec(line) ?? new RegExp(`^${NODE.source}$`).exec(line);
    if (names === null) return [`${line}: not understood`];
    return names
      .slice(1)
      .filter((name) => !declared.has(name))
      .map((name) => `${name} is not declared`);
  });
}

function sequenceProblems(statements: readonly string[]): readonly string[] {
  const declared = new Set(statements.flatMap((line) => /^participant (\w+)/.exec(line)?.[1] ?? []));
  return statements
    .filter((line) => !line.startsWith('participant '))
    .flatMap((line) => {
      const [, from, to] = /^(\w+)-{1,2}>>(\w+): .+$/.exec(line) ?? [];
      if (from === undefined || to === undefined) return [`${line}: not understood`];
      return [from, to].filter((name) => !declared.has(name)).map((name) => `${name} is not declared`);
    });
}

import { compileNameGlob, compilePathGlob, type PathMatcher } from '../../base/index.ts';

/** Returns whether a name matches the tool glob of a rule. */
export function matchesToolGlob(glob: string, name: string): boolean {
  return compileNameGlob(literalBrackets(glob))?.(name) === true;
}

/** Returns whether a path is exactly what the path glob of a rule describes. */
export function matchesPathGlob(glob: string, path: string): boolean {
  return compileAnyDepth(acrossNames(glob), {})?.(path.split('/')) === true;
}

/** Returns whether a path may be what the path glob of a rule describes: case is ignored. */
export function mayMatchPathGlob(glob: string, path: string): boolean {
  const matches = compileAnyDepth(acrossNames(glob), { ignoreCase: true });
  // A glob with too many alternatives may be anything.
  return matches === undefined || matches(path.split('/'));
}

/** A glob matches at any depth, unless it starts with a slash; `dir/**` also matches `dir` itself. */
function compileAnyDepth(glob: string, options: { readonly ignoreCase?: boolean }): PathMatcher | undefined {
  const path = glob.startsWith('/') ? glob : `**/${glob}`;
  return compilePathGlob(path.replace(/\/\*\*$/, '{,/**}'), options);
}

/** Brackets and braces are literal in rules: directories such as `app/[id]` are common. */
function literalBrackets(glob: string): string {
  return glob.replace(/\\[^]|[[\]{}]/g, (part) => (part.length > 1 ? part : `\\${part}`));
}

/** In rules, `**` beside other characters also matches slashes: `secret**` matches `secrets/a/b`. */
function acrossNames(glob: string): string {
  const literal = literalBrackets(glob);
  return literal.replace(/\\[^]|\*{3,}|\*\*\/?/g, (part, at: number) => {
    if (part.startsWith('\\')) return part;
    const isStart = at === 0 || literal[at - 1] === '/';
    const isEnd = at + part.length === literal.length;
    if (part.endsWith('/')) return isStart ? '**/' : '{,*/**/}';
    if (isStart) return isEnd && part === '**' ? part : '**/*';
    return isEnd ? '{*,*/**}' : '{*,*/**/*}';
  });
}

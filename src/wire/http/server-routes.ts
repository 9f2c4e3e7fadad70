import { httpRefusal } from './server-refusal.ts';

/** What a request is matched by. Names in braces stand for one part of the path: `/tasks/{taskId}/status`. */
export interface RouteAddress {
  readonly method: 'GET' | 'POST';
  readonly path: string;
}

export interface RouteMatch<R> {
  readonly route: R;
  /** By the names in the braces, decoded. */
  readonly params: ReadonlyMap<string, string>;
}

/**
 * Finds the route of a request; refuses with 404, or with 405 where only the method is wrong. Words of a path are compared as
 * they were sent: only what a name in braces stands for is decoded. HEAD is answered by the route of GET.
 */
export function findRoute<R extends RouteAddress>(
  routes: readonly R[],
  method: string,
  path: string,
): RouteMatch<R> {
  const given = path.split('/');
  const wanted = method === 'HEAD' ? 'GET' : method;
  const others: string[] = [];
  for (const { route, pattern } of tableOf(routes)) {
    const params = matchPath(pattern, given);
    if (params === undefined) continue;
    if (route.method === wanted) return { route, params };
    others.push(...(route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]));
  }
  if (others.length === 0) throw httpRefusal(404, 'not_found', `there is nothing at ${path.slice(0, 200)}`);
  const allow = others.join(', ');
  throw httpRefusal(405, 'method_not_allowed', `use ${allow} for ${path.slice(0, 200)}`, {
    headers: { allow },
  });
}

/** A part of a route's path: a word, or the name that stands for one. */
type PatternPart = { readonly word: string } | { readonly name: string };

interface Entry<R> {
  readonly route: R;
  readonly pattern: readonly PatternPart[];
}

/** Routes are read once: a request is matched against all of them. */
const TABLES = new WeakMap<readonly RouteAddress[], readonly Entry<RouteAddress>[]>();

function tableOf<R extends RouteAddress>(routes: readonly R[]): readonly Entry<R>[] {
  // What is kept for a list was made of that list.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const known = TABLES.get(routes) as readonly Entry<R>[] | undefined;
  if (known !== undefined) return known;
  const table = routes.map((route) => ({ route, pattern: route.path.split('/').map(partOf) }));
  TABLES.set(routes, table);
  return table;
}

function partOf(word: string): PatternPart {
  const name = /^\{(\w+)\}$/.exec(word)?.[1];
  return name === undefined ? { word } : { name };
}

function matchPath(
  pattern: readonly PatternPart[],
  given: readonly string[],
): ReadonlyMap<string, string> | undefined {
  if (pattern.length !== given.length) return undefined;
  const params = new Map<string, string>();
  for (let at = 0; at < pattern.length; at += 1) {
    const [part, sent = ''] = [pattern[at], given[at]];
    if (part === undefined) return undefined;
    if ('word' in part) {
      if (part.word !== sent) return undefined;
    } else {
      const value = decodedPart(sent);
      if (value === undefined || value === '' || value === '.' || value === '..') return undefined;
      params.set(part.name, value);
    }
  }
  return params;
}

/** Undefined for what is no text. */
function decodedPart(part: string): string | undefined {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

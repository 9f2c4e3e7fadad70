import { httpRefusal } from './server-refusal.ts';

/** Method and path of a route. Names in braces match one path segment: `/tasks/{taskId}/status`. */
export interface RouteAddress {
  readonly method: 'GET' | 'POST';
  readonly path: string;
}

export interface RouteMatch<R> {
  readonly route: R;
  /** Decoded segments by the names in braces. */
  readonly params: ReadonlyMap<string, string>;
}

/**
 * Finds the route of a request; rejects with 404, or with 405 if only the method is wrong. Literal segments are
 * compared as sent; only segments for names in braces are decoded. GET routes also answer HEAD.
 */
export function findRoute<R extends RouteAddress>(
  routes: readonly R[],
  method: string,
  path: string,
): RouteMatch<R> {
  const segments = path.split('/');
  const routeMethod = method === 'HEAD' ? 'GET' : method;
  const otherMethods: string[] = [];
  for (const { route, pattern } of routeTable(routes)) {
    const params = matchPath(pattern, segments);
    if (params === undefined) continue;
    if (route.method === routeMethod) return { route, params };
    otherMethods.push(...(route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]));
  }
  if (otherMethods.length === 0) throw httpRefusal(404, 'not_found', `no route for ${path.slice(0, 200)}`);
  const allow = otherMethods.join(', ');
  throw httpRefusal(405, 'method_not_allowed', `use ${allow} for ${path.slice(0, 200)}`, {
    headers: { allow },
  });
}

/** A segment of a route's path: a literal, or a parameter name. */
type PatternPart = { readonly word: string } | { readonly name: string };

interface Entry<R> {
  readonly route: R;
  readonly pattern: readonly PatternPart[];
}

/** Routes are parsed once, because every request is matched against all of them. */
const TABLES = new WeakMap<readonly RouteAddress[], readonly Entry<RouteAddress>[]>();

function routeTable<R extends RouteAddress>(routes: readonly R[]): readonly Entry<R>[] {
  // The cached table was built from this list.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const cached = TABLES.get(routes) as readonly Entry<R>[] | undefined;
  if (cached !== undefined) return cached;
  const table = routes.map((route) => ({ route, pattern: route.path.split('/').map(parsePart) }));
  TABLES.set(routes, table);
  return table;
}

function parsePart(word: string): PatternPart {
  const name = /^\{(\w+)\}$/.exec(word)?.[1];
  return name === undefined ? { word } : { name };
}

function matchPath(
  pattern: readonly PatternPart[],
  segments: readonly string[],
): ReadonlyMap<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params = new Map<string, string>();
  for (let at = 0; at < pattern.length; at += 1) {
    const [part, sent = ''] = [pattern[at], segments[at]];
    if (part === undefined) return undefined;
    if ('word' in part) {
      if (part.word !== sent) return undefined;
    } else {
      const value = decodePart(sent);
      if (value === undefined || value === '' || value === '.' || value === '..') return undefined;
      params.set(part.name, value);
    }
  }
  return params;
}

/** Returns undefined if the escapes are not valid UTF-8. */
function decodePart(part: string): string | undefined {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

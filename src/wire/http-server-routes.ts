import { httpRefusal } from './http-server-refusal.ts';

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

/** Finds the route of a request; refuses with 404, or with 405 where only the method is wrong. */
export function findRoute<R extends RouteAddress>(
  routes: readonly R[],
  method: string,
  path: string,
): RouteMatch<R> {
  const given = path.split('/').map(decodedPart);
  const fitting = routes.flatMap((route) => {
    const params = matchPath(route.path, given);
    return params === undefined ? [] : [{ route, params }];
  });
  const found = fitting.find(({ route }) => route.method === method);
  if (found !== undefined) return found;
  if (fitting.length === 0) throw httpRefusal(404, 'not_found', `there is nothing at ${path.slice(0, 200)}`);
  const allow = fitting.map(({ route }) => route.method).join(', ');
  throw httpRefusal(405, 'method_not_allowed', `use ${allow} for ${path.slice(0, 200)}`, {
    headers: { allow },
  });
}

function matchPath(
  pattern: string,
  given: readonly (string | undefined)[],
): ReadonlyMap<string, string> | undefined {
  const wanted = pattern.split('/');
  if (wanted.length !== given.length) return undefined;
  const params = new Map<string, string>();
  for (const [index, part] of wanted.entries()) {
    const value = given[index];
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (value === undefined || (name === undefined ? value !== part : value === '')) return undefined;
    if (name !== undefined) params.set(name, value);
  }
  return params;
}

/** Undefined for what is no text. */
function decodedPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

import { httpRefusal } from '../../../wire/index.ts';
import type { Route } from './route.ts';

/**
 * Whether the target of a request is a path, with an optional query: not an absolute URL, `*`, or a text with characters that are not
 * allowed in a path. Its escapes must be complete.
 */
export function isPath(target: string): boolean {
  return PATH.test(target);
}

/** RFC 3986; the query may contain anything. */
const PATH = /^\/(?:[\w\-.~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*(?:\?|$)/;

/** Whether the escapes of a path are UTF-8. */
export function isDecodable(target: string): boolean {
  if (!target.includes('%')) return true;
  try {
    decodeURIComponent(withoutQuery(target));
    return true;
  } catch {
    return false;
  }
}

/** A route's path as Fastify writes it: `/tasks/:taskId/status`. */
export function routeUrl(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * Refuses another spelling of a route: the router decodes escapes, but a proxy in front may have decided by the exact path. `id` is the
 * decoded value of the path's parameter; dot segments would be another path for a client that normalizes it.
 */
export function refuseOtherSpelling(url: string, path: string, id: string): void {
  const isOther = id === '.' || id === '..' || (id === '' && path.includes('{'));
  if (isOther || (url.includes('%') && !pattern(path).test(withoutQuery(url))))
    throw httpRefusal(404, 'not_found', `no route for ${withoutQuery(url).slice(0, 200)}`);
}

/** The methods of the routes that match a path. GET routes also answer HEAD. */
export function methodsAt(routes: readonly Route[], path: string): readonly string[] {
  return routes
    .filter((route) => pattern(route.path).test(path))
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

const PATTERNS = new Map<string, RegExp>();

/** Matches exactly the paths of a route. */
function pattern(path: string): RegExp {
  const known = PATTERNS.get(path);
  if (known !== undefined) return known;
  const made = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  PATTERNS.set(path, made);
  return made;
}

function withoutQuery(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? url : url.slice(0, mark);
}

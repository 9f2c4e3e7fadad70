/** The target of a request: a path and its query, as sent. */
export interface RequestTarget {
  readonly pathname: string;
  readonly searchParams: URLSearchParams;
}

/**
 * Parses the target of a request without normalizing it: `.` and `..`, double slashes and escapes are kept, so
 * that only the exact path matches a route. Returns undefined for absolute URLs, `*`, and characters that are
 * not allowed in a path.
 */
export function parseTarget(target: string): RequestTarget | undefined {
  const mark = target.indexOf('?');
  const pathname = mark < 0 ? target : target.slice(0, mark);
  if (!PATH.test(pathname)) return undefined;
  return {
    pathname,
    searchParams: mark < 0 ? NO_QUERY : new URLSearchParams(target.slice(mark + 1)),
  };
}

/** RFC 3986, with complete escapes. */
const PATH = /^\/(?:[\w\-.~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/;

/** Shared by all targets without a query; never modified. */
const NO_QUERY = new URLSearchParams();

/** The target of a request: a path with its query, as it was sent. */
export interface RequestTarget {
  readonly pathname: string;
  readonly searchParams: URLSearchParams;
}

/**
 * Reads the target of a request. Nothing is normalised: `.` and `..`, doubled slashes and escapes stay as they are, so that no
 * spelling leads to a route but its own. Undefined for whole URLs, `*`, and characters that do not belong into a path.
 */
export function readTarget(target: string): RequestTarget | undefined {
  const mark = target.indexOf('?');
  const pathname = mark < 0 ? target : target.slice(0, mark);
  if (!PATH.test(pathname)) return undefined;
  return {
    pathname,
    searchParams: mark < 0 ? NO_QUERY : new URLSearchParams(target.slice(mark + 1)),
  };
}

/** By RFC 3986, with escapes that are complete. */
const PATH = /^\/(?:[\w\-.~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/;

/** For all targets without a query: nobody writes to it. */
const NO_QUERY = new URLSearchParams();

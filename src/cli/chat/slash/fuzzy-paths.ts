/**
 * Returns the paths that contain the characters of a text in order, the best matches first: by name before by
 * directory, connected before scattered, short before long.
 */
export function fuzzyPaths(typed: string, paths: readonly string[], most: number): readonly string[] {
  const wanted = typed.toLowerCase();
  return paths
    .flatMap((path) => {
      const rank = rankOf(wanted, path.toLowerCase());
      return rank === undefined ? [] : [{ path, rank }];
    })
    .toSorted((one, other) => other.rank - one.rank || one.path.length - other.path.length)
    .slice(0, most)
    .map(({ path }) => path);
}

/** How well a path matches; undefined if it does not. Steps of 1000 separate the kinds of matches. */
function rankOf(wanted: string, path: string): number | undefined {
  const scattered = rankInOrder(wanted, path);
  if (scattered === undefined) return undefined;
  const name = path.slice(path.lastIndexOf('/', path.length - 2) + 1);
  if (name.startsWith(wanted)) return 5000;
  if (name.includes(wanted)) return 4000;
  if (path.includes(wanted)) return 3000;
  const inName = rankInOrder(wanted, name);
  return inName === undefined ? 1000 + scattered : 2000 + inName;
}

/** Ranks characters that occur in order: each one that starts a word or follows the previous one counts. */
function rankInOrder(wanted: string, text: string): number | undefined {
  let at = -1;
  let rank = 0;
  for (const character of wanted) {
    const next = text.indexOf(character, at + 1);
    if (next === -1) return undefined;
    if (next === at + 1 || !/[\p{L}\p{N}]/u.test(text[next - 1] ?? '')) rank += 1;
    at = next;
  }
  return rank;
}

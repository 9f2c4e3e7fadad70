import { createHash } from 'node:crypto';

/** The longest name that every provider takes. */
const LONGEST = 64;
const LONGEST_SERVER = 32;
const HASH_DIGITS = 8;

/**
 * The names under which a model knows a server's tools, by the names that the server gives them: `mcp__server__tool`, of
 * letters, digits, dashes and underscores. A name depends on nothing but the tool's own, unless two of them would be the same.
 */
export function toolNames(server: string, tools: Iterable<string>): ReadonlyMap<string, string> {
  const prefix = `mcp__${serverPart(server)}__`;
  const space = LONGEST - prefix.length;
  const named = [...new Set(tools)].map((tool) => [tool, plain(tool)] as const);
  const uses = countBy(named.map(([, name]) => name));
  return new Map(
    named.map(([tool, name]) => {
      // The tool that really is called so keeps its name.
      const taken = tool !== name && (uses.get(name) ?? 0) > 1;
      return [tool, prefix + (taken ? marked(name, tool, space) : fitted(name, tool, space))];
    }),
  );
}

/** A server's part in the names of its tools. It holds no `__`, so that it ends where the next part begins. */
export function serverPart(server: string): string {
  const name = server.replace(/[^A-Za-z0-9-]+/g, '_').replace(/^_|_$/g, '');
  return fitted(name, server, LONGEST_SERVER);
}

function plain(tool: string): string {
  return tool.replace(/[^\w-]+/g, '_');
}

function fitted(name: string, original: string, space: number): string {
  return name.length <= space ? name : marked(name, original, space);
}

/** The name with a mark that only this original has. */
function marked(name: string, original: string, space: number): string {
  const hash = createHash('sha256').update(original).digest('hex').slice(0, HASH_DIGITS);
  return `${name.slice(0, space - HASH_DIGITS - 1).replace(/_+$/, '')}_${hash}`;
}

function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

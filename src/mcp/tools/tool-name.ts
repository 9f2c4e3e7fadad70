import { createHash } from 'node:crypto';

/** The longest name that every provider accepts. */
const MAX_LENGTH = 64;
const MAX_SERVER_LENGTH = 32;
const HASH_DIGITS = 8;

/**
 * Maps the server's tool names to the names that a model sees: `mcp__server__tool`, of letters, digits, dashes
 * and underscores. A name depends only on the tool's own name, unless two would collide.
 */
export function toolNames(server: string, tools: Iterable<string>): ReadonlyMap<string, string> {
  const prefix = `mcp__${serverPart(server)}__`;
  const space = MAX_LENGTH - prefix.length;
  const named = [...new Set(tools)].map((tool) => [tool, sanitize(tool)] as const);
  const uses = countBy(named.map(([, name]) => name));
  return new Map(
    named.map(([tool, name]) => {
      // A tool whose real name this is keeps it.
      const collides = tool !== name && (uses.get(name) ?? 0) > 1;
      return [tool, prefix + (collides ? withHash(name, tool, space) : fit(name, tool, space))];
    }),
  );
}

/** Returns the server's part of its tools' names. It contains no `__`, so the parts can be separated. */
export function serverPart(server: string): string {
  const name = server.replace(/[^A-Za-z0-9-]+/g, '_').replace(/^_|_$/g, '');
  return fit(name, server, MAX_SERVER_LENGTH);
}

function sanitize(tool: string): string {
  return tool.replace(/[^\w-]+/g, '_');
}

function fit(name: string, original: string, space: number): string {
  return name.length <= space ? name : withHash(name, original, space);
}

/** Returns the name with a hash of the original. */
function withHash(name: string, original: string, space: number): string {
  const hash = createHash('sha256').update(original).digest('hex').slice(0, HASH_DIGITS);
  return `${name.slice(0, space - HASH_DIGITS - 1).replace(/_+$/, '')}_${hash}`;
}

function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

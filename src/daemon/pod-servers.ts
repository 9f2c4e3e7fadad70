import type { JsonObject } from '../base/index.ts';
import type * as Mcp from '../mcp/index.ts';
import type { McpServers, McpServerSpec, McpSurroundings } from '../mcp/index.ts';
import type { Tool } from '../tools/index.ts';

/** The MCP servers of one pod: those that are configured, and those that a client has given it. */
export class PodServers {
  readonly #configured: readonly McpServerSpec[];
  readonly #surroundings: McpSurroundings;
  #given: JsonObject | undefined;
  /** Made when somebody wants their tools, if there are any. */
  #servers: McpServers | undefined;
  /** Of replaced servers: nobody is gone before they are. */
  readonly #closing = new Set<Promise<void>>();

  constructor(configured: readonly McpServerSpec[], surroundings: McpSurroundings) {
    this.#configured = configured;
    this.#surroundings = surroundings;
  }

  /** The tools, with the servers that are given now: other ones than before take their place. */
  async tools(given: JsonObject | undefined): Promise<readonly Tool[]> {
    // Most people have no servers, and need not wait until what reaches them is loaded.
    if (this.#servers === undefined && this.#configured.length === 0 && given === undefined) return [];
    return this.#with(given, await import('../mcp/index.ts')).tools();
  }

  async close(): Promise<void> {
    await Promise.all([this.#servers?.close(), ...this.#closing]);
  }

  /** With a mistake in what is given, everything stays as it was. */
  #with(given: JsonObject | undefined, mcp: typeof Mcp): McpServers {
    const before = this.#servers;
    const isSame = given === this.#given || JSON.stringify(given) === JSON.stringify(this.#given);
    if (before !== undefined && isSame) return before;
    const servers = new mcp.McpServers(this.#specs(given, mcp), this.#surroundings);
    [this.#servers, this.#given] = [servers, given];
    if (before !== undefined) {
      const closing = before.close().finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
    return servers;
  }

  /** A server that is given counts before one that is configured under the same name. */
  #specs(given: JsonObject | undefined, { readMcpConfig }: typeof Mcp): readonly McpServerSpec[] {
    const own = given === undefined ? [] : readMcpConfig(given);
    const others = this.#configured.filter(({ name }) => !own.some((spec) => spec.name === name));
    return [...others, ...own];
  }
}

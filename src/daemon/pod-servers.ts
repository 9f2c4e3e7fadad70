import type { JsonObject } from '../base/index.ts';
import { McpServers, type McpServerSpec, type McpSurroundings, readMcpConfig } from '../mcp/index.ts';
import type { Tool } from '../tools/index.ts';

/** The MCP servers of one pod: those that are configured, and those that a client has given it. */
export class PodServers {
  readonly #configured: readonly McpServerSpec[];
  readonly #surroundings: McpSurroundings;
  #given: JsonObject | undefined;
  #servers: McpServers;
  /** Of replaced servers: nobody is gone before they are. */
  readonly #closing = new Set<Promise<void>>();

  constructor(configured: readonly McpServerSpec[], surroundings: McpSurroundings) {
    this.#configured = configured;
    this.#surroundings = surroundings;
    this.#servers = new McpServers(configured, surroundings);
  }

  /** The tools, with the servers that are given now: other ones than before take their place. */
  async tools(given: JsonObject | undefined): Promise<readonly Tool[]> {
    if (given !== this.#given) this.#replace(given);
    return this.#servers.tools();
  }

  async close(): Promise<void> {
    await Promise.all([this.#servers.close(), ...this.#closing]);
  }

  /** With a mistake in what is given, everything stays as it was. */
  #replace(given: JsonObject | undefined): void {
    const isSame = JSON.stringify(given) === JSON.stringify(this.#given);
    const servers = isSame ? this.#servers : new McpServers(this.#with(given), this.#surroundings);
    this.#given = given;
    if (servers === this.#servers) return;
    const closing = this.#servers.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    this.#servers = servers;
  }

  /** A server that is given counts before one that is configured under the same name. */
  #with(given: JsonObject | undefined): readonly McpServerSpec[] {
    const own = given === undefined ? [] : readMcpConfig(given);
    const others = this.#configured.filter(({ name }) => !own.some((spec) => spec.name === name));
    return [...others, ...own];
  }
}

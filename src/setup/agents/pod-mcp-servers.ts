import type * as Mcp from '../../mcp/index.ts';
import type { McpServers, McpServerSpec, McpHostContext } from '../../mcp/index.ts';
import type { PodSettings } from '../../pod/index.ts';
import type { Tool } from '../../tools/index.ts';

/** The MCP servers that clients configured for a pod, and the session context passed to them. */
type Given = Pick<PodSettings, 'mcpConfig' | 'mcpContext'>;

/** The MCP servers of one pod: those that are configured, and those that a client has given it. */
export class PodMcpServers {
  readonly #configured: readonly McpServerSpec[];
  readonly #surroundings: McpHostContext;
  #given = '';
  /** Made when somebody wants their tools, if there are any. */
  #servers: McpServers | undefined;
  /** Of replaced servers: nobody is gone before they are. */
  readonly #closing = new Set<Promise<void>>();

  constructor(configured: readonly McpServerSpec[], surroundings: McpHostContext) {
    this.#configured = configured;
    this.#surroundings = surroundings;
  }

  /** The tools, with the servers that are given now: other ones than before take their place. */
  async tools(given: Given): Promise<readonly Tool[]> {
    // Most people have no servers, and need not wait until what reaches them is loaded.
    if (this.#servers === undefined && this.#configured.length === 0 && given.mcpConfig === undefined)
      return [];
    return this.#with(given, await import('../../mcp/index.ts')).tools();
  }

  async close(): Promise<void> {
    await Promise.all([this.#servers?.close(), ...this.#closing]);
  }

  /** With a mistake in what is given, everything stays as it was. */
  #with(given: Given, mcp: typeof Mcp): McpServers {
    const before = this.#servers;
    const text = JSON.stringify([given.mcpConfig, given.mcpContext]);
    if (before !== undefined && text === this.#given) return before;
    const servers = new mcp.McpServers(this.#specs(given, mcp), this.#surroundings);
    [this.#servers, this.#given] = [servers, text];
    if (before !== undefined) {
      const closing = before.close().finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
    return servers;
  }

  /** A server that is given counts before one that is configured under the same name. */
  #specs({ mcpConfig, mcpContext }: Given, { readMcpConfig }: typeof Mcp): readonly McpServerSpec[] {
    const own = mcpConfig === undefined ? [] : readMcpConfig(mcpConfig).map((spec) => told(spec, mcpContext));
    const others = this.#configured.filter(({ name }) => !own.some((spec) => spec.name === name));
    return [...others, ...own];
  }
}

/** The server with what it is told about the session. Values of the same name in its own configuration do not count. */
function told(spec: McpServerSpec, context: PodSettings['mcpContext']): McpServerSpec {
  if (context === undefined) return spec;
  if (spec.transport === 'stdio') return { ...spec, env: { ...spec.env, ...context.env } };
  const names = new Set(Object.keys(context.headers).map((name) => name.toLowerCase()));
  const others = Object.entries(spec.headers).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...spec, headers: { ...Object.fromEntries(others), ...context.headers } };
}

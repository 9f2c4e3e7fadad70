import type * as Mcp from '../../mcp/index.ts';
import type { McpServers, McpServerSpec, McpHostContext } from '../../mcp/index.ts';
import type { PodSettings } from '../../pod/index.ts';
import type { Tool } from '../../tools/index.ts';

/** The MCP servers that clients configured for a pod, and the session context passed to them. */
type ClientServers = Pick<PodSettings, 'mcpConfig' | 'mcpContext'>;

/** The MCP servers of one pod: those of the configuration and those that a client added. */
export class PodMcpServers {
  readonly #configured: readonly McpServerSpec[];
  readonly #context: McpHostContext;
  #clientServers = '';
  /** Made when somebody wants their tools, if there are any. */
  #servers: McpServers | undefined;
  /** Pending closes of replaced servers, which `close` waits for. */
  readonly #closing = new Set<Promise<void>>();

  constructor(configured: readonly McpServerSpec[], context: McpHostContext) {
    this.#configured = configured;
    this.#context = context;
  }

  /** The tools of all servers. Changed settings of the client replace its previous servers. */
  async tools(clientServers: ClientServers): Promise<readonly Tool[]> {
    // Without servers, the MCP client need not be loaded.
    if (this.#servers === undefined && this.#configured.length === 0 && clientServers.mcpConfig === undefined)
      return [];
    return this.#with(clientServers, await import('../../mcp/index.ts')).tools();
  }

  /** The servers of the configuration and of the client, for an agent that connects to them itself. */
  async specs(clientServers: ClientServers): Promise<readonly McpServerSpec[]> {
    if (clientServers.mcpConfig === undefined) return this.#configured;
    return this.#specs(clientServers, await import('../../mcp/index.ts'));
  }

  async close(): Promise<void> {
    await Promise.all([this.#servers?.close(), ...this.#closing]);
  }

  /** If the client's settings are invalid, this throws and the servers stay unchanged. */
  #with(clientServers: ClientServers, mcp: typeof Mcp): McpServers {
    const before = this.#servers;
    const text = JSON.stringify([clientServers.mcpConfig, clientServers.mcpContext]);
    if (before !== undefined && text === this.#clientServers) return before;
    const servers = new mcp.McpServers(this.#specs(clientServers, mcp), this.#context);
    [this.#servers, this.#clientServers] = [servers, text];
    if (before !== undefined) {
      const closing = before.close().finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
    return servers;
  }

  /** A client's server replaces a configured one with the same name. */
  #specs({ mcpConfig, mcpContext }: ClientServers, { readMcpConfig }: typeof Mcp): readonly McpServerSpec[] {
    const clientSpecs =
      mcpConfig === undefined ? [] : readMcpConfig(mcpConfig).map((spec) => withContext(spec, mcpContext));
    const others = this.#configured.filter(({ name }) => !clientSpecs.some((spec) => spec.name === name));
    return [...others, ...clientSpecs];
  }
}

/** Adds the session context to a server. It overrides values of the same name in the server's configuration. */
function withContext(spec: McpServerSpec, context: PodSettings['mcpContext']): McpServerSpec {
  if (context === undefined) return spec;
  if (spec.transport === 'stdio') return { ...spec, env: { ...spec.env, ...context.env } };
  const names = new Set(Object.keys(context.headers).map((name) => name.toLowerCase()));
  const others = Object.entries(spec.headers).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...spec, headers: { ...Object.fromEntries(others), ...context.headers } };
}

import { arrayOf, type JsonObject, objectOf, stringOf } from '../../base/index.ts';
import type * as Mcp from '../../mcp/index.ts';
import type { McpServers, McpServerSpec, McpHostContext } from '../../mcp/index.ts';
import type { PodSettings, ServerValues } from '../../pod/index.ts';
import type { Tool } from '../../tools/index.ts';

/** The MCP servers that clients configured for a pod, the session context passed to some, and the values for others. */
interface ClientServers extends Pick<PodSettings, 'mcpConfig' | 'mcpContext' | 'editorServers'> {
  readonly editorValues?: ServerValues | undefined;
}

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
    const { mcpConfig, editorServers } = clientServers;
    if (
      this.#servers === undefined &&
      this.#configured.length === 0 &&
      mcpConfig === undefined &&
      editorServers === undefined
    )
      return [];
    return this.#with(clientServers, await import('../../mcp/index.ts')).tools();
  }

  /** The servers of the configuration and of the client, for an agent that connects to them itself. */
  async specs(clientServers: ClientServers): Promise<readonly McpServerSpec[]> {
    const { mcpConfig, editorServers } = clientServers;
    if (mcpConfig === undefined && editorServers === undefined) return this.#configured;
    return this.#specs(clientServers, await import('../../mcp/index.ts'));
  }

  async close(): Promise<void> {
    await Promise.all([this.#servers?.close(), ...this.#closing]);
  }

  /** If the client's settings are invalid, this throws and the servers stay unchanged. */
  #with(clientServers: ClientServers, mcp: typeof Mcp): McpServers {
    const before = this.#servers;
    const { mcpConfig, mcpContext, editorServers, editorValues } = clientServers;
    const text = JSON.stringify([mcpConfig, mcpContext, editorServers, editorServers && editorValues]);
    if (before !== undefined && text === this.#clientServers) return before;
    const servers = new mcp.McpServers(this.#specs(clientServers, mcp), this.#context);
    [this.#servers, this.#clientServers] = [servers, text];
    if (before !== undefined) {
      const closing = before.close().finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
    return servers;
  }

  /** A client's server replaces a configured one with the same name, and an editor's server replaces both. */
  #specs(
    { mcpConfig, mcpContext, editorServers = {}, editorValues = {} }: ClientServers,
    { readMcpConfig }: typeof Mcp,
  ): readonly McpServerSpec[] {
    const clientSpecs =
      mcpConfig === undefined ? [] : readMcpConfig(mcpConfig).map((spec) => withContext(spec, mcpContext));
    const { complete, incomplete } = completed(editorServers, editorValues);
    const editorSpecs = readMcpConfig({ mcpServers: complete });
    for (const { name, transport, missing } of incomplete)
      this.#context.onChange({
        name,
        transport,
        state: 'failed',
        tools: 0,
        error: `the values of ${missing.join(', ')} are known only to the editor: open the session in it`,
      });
    return [clientSpecs, editorSpecs].reduce(replacedBy, this.#configured);
  }
}

function replacedBy(
  specs: readonly McpServerSpec[],
  others: readonly McpServerSpec[],
): readonly McpServerSpec[] {
  return [...specs.filter(({ name }) => !others.some((other) => other.name === name)), ...others];
}

interface IncompleteServer {
  readonly name: string;
  readonly transport: McpServerSpec['transport'];
  readonly missing: readonly string[];
}

/** The servers of an editor with the values that it gave. A server whose values are unknown must not be started. */
function completed(
  servers: JsonObject,
  values: ServerValues,
): { readonly complete: JsonObject; readonly incomplete: readonly IncompleteServer[] } {
  const complete: [string, JsonObject][] = [];
  const incomplete: IncompleteServer[] = [];
  for (const [name, recorded] of Object.entries(servers)) {
    const { env, headers, ...server } = objectOf(recorded);
    const isHttp = server.url !== undefined;
    const names = arrayOf(isHttp ? headers : env).map(stringOf);
    const given = Object.hasOwn(values, name) ? (values[name] ?? {}) : {};
    const missing = names.filter((key) => !Object.hasOwn(given, key));
    const pairs = Object.fromEntries(names.map((key) => [key, given[key] ?? '']));
    if (missing.length > 0) incomplete.push({ name, transport: isHttp ? 'http' : 'stdio', missing });
    else complete.push([name, { ...server, [isHttp ? 'headers' : 'env']: pairs }]);
  }
  return { complete: Object.fromEntries(complete), incomplete };
}

/** Adds the session context to a server. It overrides values of the same name in the server's configuration. */
function withContext(spec: McpServerSpec, context: PodSettings['mcpContext']): McpServerSpec {
  if (context === undefined) return spec;
  if (spec.transport === 'stdio') return { ...spec, env: { ...spec.env, ...context.env } };
  const names = new Set(Object.keys(context.headers).map((name) => name.toLowerCase()));
  const others = Object.entries(spec.headers).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...spec, headers: { ...Object.fromEntries(others), ...context.headers } };
}

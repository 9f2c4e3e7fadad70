import type { Environment, ValueSource } from '../../llm/index.ts';
import { SEARCH_PROVIDERS, type Tool, webFetchTool, webSearchTool } from '../../tools/index.ts';
import { proxiedTransport, transportFrom } from '../../wire/index.ts';
import type { Config, WebSearchSettings } from '../config/config.ts';

/** The tools that use the network. The configuration is read on each call, because it can be reloaded. */
export function webTools(env: Environment, config: () => Config): () => readonly Tool[] {
  const transport = transportFrom(env);
  const fetchTool = webFetchTool({
    privateHosts: () => config().permissions.privateHosts,
    proxied: proxiedTransport(env),
  });
  return () => {
    const { webSearch } = config();
    if (webSearch === undefined) return [fetchTool];
    const { provider, baseUrl } = webSearch;
    return [
      fetchTool,
      webSearchTool({ provider, transport, ...(baseUrl && { baseUrl }), ...searchKey(webSearch, env) }),
    ];
  };
}

/** The key of the search provider, or why there is none. */
export function searchKey(
  { provider, key }: Pick<WebSearchSettings, 'provider' | 'key'>,
  env: Environment,
): { readonly key?: string; readonly problem?: string } {
  const { keyEnv } = SEARCH_PROVIDERS[provider];
  const source: ValueSource | undefined = key ?? (keyEnv === undefined ? undefined : { env: keyEnv });
  if (source === undefined) return {};
  if ('unavailable' in source) return { problem: source.unavailable };
  const value = ('env' in source ? (env[source.env] ?? '') : source.text).trim();
  if (/^[\x21-\x7e]+$/.test(value)) return { key: value };
  const name = 'env' in source ? source.env : source.source;
  const step =
    'env' in source ? `set ${name}, or add key_file to web_search in config.yaml` : 'correct the file';
  return { problem: `there is no key in ${name}: ${step}` };
}

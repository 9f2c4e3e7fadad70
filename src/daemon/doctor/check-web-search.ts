import type { Environment } from '../../llm/index.ts';
import { loadWebTools } from '../../setup/index.ts';
import type { Config } from '../../setup/config/index.ts';
import type { Finding } from './finding.ts';

/** Checks the key of the search provider, if one is configured. Sends no request. */
export async function checkWebSearch(env: Environment, { webSearch }: Config): Promise<readonly Finding[]> {
  if (webSearch === undefined) return [];
  const { searchKey } = await loadWebTools();
  const { problem } = searchKey(webSearch, env);
  const check = 'web search';
  return problem === undefined
    ? [{ check, state: 'ok', text: `agents can search with ${webSearch.provider}` }]
    : [{ check, state: 'warning', text: problem, next: 'give the key as web_search in config.yaml says' }];
}

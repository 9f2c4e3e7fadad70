import { arrayOf, type JsonObject, objectOf, stringOf } from '../../base/index.ts';

/** One result of a search, as the provider states it. */
export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/** The API of a search provider. All functions are pure. */
export interface SearchProvider {
  /** Its name in messages. */
  readonly title: string;
  /** Absent if every customer has an own server. */
  readonly baseUrl?: string;
  /** The variable that usually holds the key; absent if no key is needed. */
  readonly keyEnv?: string;
  readonly request: (search: SearchRequest) => SearchHttpRequest;
  readonly results: (answer: JsonObject) => readonly SearchResult[];
  /** The reason in an error. */
  readonly reason: (error: JsonObject) => string;
  /** What the user has to do, by HTTP status, if it is not what the status usually means. */
  readonly steps?: Readonly<Record<number, string>>;
}

export interface SearchRequest {
  readonly baseUrl: string;
  readonly key: string;
  readonly query: string;
  readonly count: number;
}

export interface SearchHttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export const SEARCH_PROVIDER_NAMES = ['brave', 'tavily', 'exa', 'searxng'] as const;
export type SearchProviderName = (typeof SEARCH_PROVIDER_NAMES)[number];

export const SEARCH_PROVIDERS: Readonly<Record<SearchProviderName, SearchProvider>> = {
  brave: {
    title: 'Brave Search',
    baseUrl: 'https://api.search.brave.com',
    keyEnv: 'BRAVE_API_KEY',
    request: ({ baseUrl, key, query, count }) =>
      get(
        `${baseUrl}/res/v1/web/search`,
        { q: query, count: String(count) },
        { 'x-subscription-token': key },
      ),
    results: (answer) => listed(objectOf(answer['web'])['results'], ({ description }) => description),
    reason: ({ error }) => stringOf(objectOf(error)['detail']),
    // Brave answers 422 for an invalid key.
    steps: { 422: 'check the key' },
  },
  tavily: {
    title: 'Tavily',
    baseUrl: 'https://api.tavily.com',
    keyEnv: 'TAVILY_API_KEY',
    request: ({ baseUrl, key, query, count }) =>
      post(`${baseUrl}/search`, { query, max_results: count }, { authorization: `Bearer ${key}` }),
    results: ({ results }) => listed(results, ({ content }) => content),
    reason: ({ detail }) => stringOf(objectOf(detail)['error']) || stringOf(detail),
    steps: { 432: 'change the plan, which is used up,', 433: 'raise the limit at tavily.com' },
  },
  exa: {
    title: 'Exa',
    baseUrl: 'https://api.exa.ai',
    keyEnv: 'EXA_API_KEY',
    request: ({ baseUrl, key, query, count }) =>
      post(
        `${baseUrl}/search`,
        { query, numResults: count, contents: { highlights: true } },
        { 'x-api-key': key },
      ),
    results: ({ results }) =>
      listed(
        results,
        ({ highlights, text }) => arrayOf(highlights).map(stringOf).join(' … ') || stringOf(text),
      ),
    reason: ({ error }) => stringOf(error),
  },
  searxng: {
    title: 'SearXNG',
    request: ({ baseUrl, key, query }) =>
      get(
        `${baseUrl}/search`,
        { q: query, format: 'json' },
        key === '' ? {} : { authorization: `Bearer ${key}` },
      ),
    results: ({ results }) => listed(results, ({ content }) => content),
    reason: ({ error }) => stringOf(error),
    steps: { 403: "add json to search.formats in the server's settings.yml" },
  },
};

function get(
  url: string,
  parameters: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): SearchHttpRequest {
  const query = new URLSearchParams(parameters).toString();
  return { method: 'GET', url: `${url}?${query}`, headers: { accept: 'application/json', ...headers } };
}

function post(url: string, body: JsonObject, headers: Readonly<Record<string, string>>): SearchHttpRequest {
  const json = { accept: 'application/json', 'content-type': 'application/json' };
  return { method: 'POST', url, headers: { ...json, ...headers }, body: JSON.stringify(body) };
}

function listed(results: unknown, snippet: (result: JsonObject) => unknown): readonly SearchResult[] {
  return arrayOf(results)
    .map(objectOf)
    .map((result) => ({
      title: stringOf(result['title']),
      url: stringOf(result['url']),
      snippet: stringOf(snippet(result)),
    }));
}

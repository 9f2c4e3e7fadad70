import { connect, type Item, type Provider } from '../../../src/llm/index.ts';
import { providers } from '../../../src/registry.ts';
import { type Sim, type SimRequest, startSim } from '../../../src/sim/index.ts';
import { MODEL } from '../fixture.ts';

const BASE_PATHS: Readonly<Record<string, string>> = {
  'openai-chat': '/v1',
  'openai-responses': '/v1',
  gemini: '/v1beta',
};

/** Simulated providers that validate the history as the real ones do. */
export class Providers {
  readonly #sim: Sim;
  readonly #seen: Set<string>;
  readonly #problems: string[];

  private constructor(sim: Sim, problems: string[]) {
    this.#sim = sim;
    this.#problems = problems;
    this.#seen = new Set();
  }

  static async start(): Promise<Providers> {
    const problems: string[] = [];
    const sim = await startSim({
      script: (request) => {
        problems.push(...unpaired(request));
        return { parts: [{ text: 'ok' }] };
      },
    });
    return new Providers(sim, problems);
  }

  close(): Promise<void> {
    return this.#sim.close();
  }

  /** The number of histories that were sent. */
  get histories(): number {
    return this.#seen.size;
  }

  /** Sends a history through all provider APIs, unless it was sent before. Returns what a provider would reject. */
  async refusals(items: readonly Item[]): Promise<readonly string[]> {
    const key = JSON.stringify(items);
    if (this.#seen.has(key)) return [];
    this.#seen.add(key);
    for (const provider of providers) await this.#ask(provider, items);
    return this.#problems.splice(0);
  }

  async #ask(provider: Provider, items: readonly Item[]): Promise<void> {
    const baseUrl = `${this.#sim.url}${BASE_PATHS[provider.name] ?? ''}`;
    const llm = connect(provider, { name: 'sim', api: provider.name, baseUrl, apiKey: 'any' });
    const prompt: Item = { type: 'message', role: 'user', content: [{ type: 'text', text: 'Go on' }] };
    const request = { model: MODEL.id, system: 'Be brief.', items: [...items, prompt], tools: [] };
    let last: unknown;
    for await (const batch of llm.batches(request, AbortSignal.timeout(60_000))) last = batch.at(-1);
    const isWell = JSON.stringify(last).includes('"completed"');
    if (!isWell) this.#problems.push(`${provider.name}: ${JSON.stringify(last)}`);
  }
}

/**
 * Results without a preceding call, and calls without a following result. Some provider APIs have no ids: there the count is
 * compared.
 */
function unpaired({ api: wire, messages }: SimRequest): readonly string[] {
  const problems: string[] = [];
  for (const [at, { role, toolCalls, toolResults }] of messages.entries()) {
    const before = messages[at - 1]?.toolCalls ?? [];
    const after = messages[at + 1]?.toolResults ?? [];
    const ids = (some: readonly { readonly id: string }[]) => some.map(({ id }) => id).toSorted();
    const hasIds = [...toolCalls, ...toolResults, ...before, ...after].every(({ id }) => id !== '');
    const isPaired = (
      calls: readonly { readonly id: string }[],
      results: readonly { readonly id: string }[],
    ) => (hasIds ? String(ids(calls)) === String(ids(results)) : calls.length === results.length);
    if (role === 'assistant' && !isPaired(toolCalls, after))
      problems.push(`${wire}: calls ${ids(toolCalls).join()} are followed by results ${ids(after).join()}`);
    if (role === 'tool' && !isPaired(before, toolResults))
      problems.push(`${wire}: results ${ids(toolResults).join()} follow on calls ${ids(before).join()}`);
  }
  return problems;
}

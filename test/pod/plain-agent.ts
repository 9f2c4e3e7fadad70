import { connect } from '../../src/llm/index.ts';
import type { Agent } from '../../src/pod/index.ts';
import { providerNamed } from '../../src/registry.ts';
import { fileFacts, scopeFrom } from '../../src/tools/index.ts';

/** An agent without tools whose model is the simulator at this address, for separate processes. */
export function plainAgent(url: string, cwd: string): Agent {
  const account = { name: 'sim', api: 'anthropic', baseUrl: url, apiKey: 'any' };
  const model = { account: 'sim', id: 'sim', name: 'sim', reasoning: true, input: ['text' as const] };
  return {
    defaultModel: { provider: 'sim', modelId: 'sim' },
    model: async () => ({ llm: connect(providerNamed('anthropic'), account), model }),
    tools: async () => [],
    system: async () => 'Be brief.',
    mode: 'read-only',
    rules: [],
    sandboxed: false,
    fileFacts,
    scope: (paths) => scopeFrom(cwd, paths, fileFacts.realPath),
    toolContext: () => ({ env: {}, scratch: cwd, sandbox: undefined }),
    remember: async () => {},
    close: async () => {},
  };
}

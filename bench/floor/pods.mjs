import { anthropic } from '../../dist/llm/anthropic/index.js';
import { connect, textContent } from '../../dist/llm/index.js';
import { Host } from '../../dist/pod/index.js';
import { fileFacts, scopeFrom } from '../../dist/tools/index.js';

const model = { account: 'sim', id: 'sim', name: 'sim', reasoning: false, input: ['text'] };

/** Takes any text and does nothing with it. */
const note = {
  name: 'note',
  description: 'Takes a note.',
  parameters: { type: 'object', properties: { text: { type: 'string' } } },
  parallel: true,
  prepare: () => ({
    access: [],
    title: 'note',
    run: async () => ({ summary: 'noted', content: textContent('noted'), isError: false }),
  }),
};

/** A host of pods whose model is the simulator. */
export function openHost(provider, directory, options = {}) {
  const llm = connect(anthropic, { name: 'sim', api: 'anthropic', baseUrl: provider, apiKey: 'any' });
  const agents = async ({ cwd }) => ({
    defaultModel: { provider: 'sim', modelId: 'sim' },
    model: async () => ({ llm, model }),
    tools: async () => [note],
    system: async () => 'Be brief.',
    mode: 'full-access',
    rules: [],
    sandboxed: false,
    fileFacts,
    scope: (paths) => scopeFrom(cwd, paths, fileFacts.realPath),
    toolContext: () => ({ env: {}, scratch: cwd, sandbox: undefined }),
    remember: async () => {},
    close: async () => {},
  });
  return Host.open({ directory, agents, ...options });
}

export const promptCommand = (text) => ({ type: 'prompt', content: textContent(text) });

/** The product at a glance: every provider, door and tool there is. */
import { PolypodError } from './base/index.ts';
import { anthropic } from './llm/anthropic/index.ts';
import { gemini } from './llm/gemini/index.ts';
import type { Provider } from './llm/index.ts';
import { ollama } from './llm/ollama/index.ts';
import { openaiChat } from './llm/openai-chat/index.ts';
import { openaiResponses } from './llm/openai-responses/index.ts';
import type { Door } from './protocols/index.ts';

export const providers: readonly Provider[] = [anthropic, openaiChat, openaiResponses, gemini, ollama];

/** Each is loaded when it is opened. */
export const doors: readonly Door[] = [
  { name: 'pod', open: async (context) => (await import('./protocols/pod/index.ts')).openPodDoor(context) },
  { name: 'hld', open: async (context) => (await import('./protocols/hld/index.ts')).openHldDoor(context) },
  { name: 'rpc', open: async (context) => (await import('./protocols/rpc/index.ts')).openRpcDoor(context) },
  {
    name: 'tasks',
    open: async (context) => (await import('./protocols/tasks/index.ts')).openTasksDoor(context),
  },
];

export function providerNamed(name: string): Provider {
  const provider = providers.find((candidate) => candidate.name === name);
  if (provider !== undefined) return provider;
  throw new PolypodError(
    'not-found',
    `no provider is called "${name}": there are ${providers.map(({ name: known }) => known).join(', ')}`,
  );
}

import { PolypodError } from '../base/index.ts';
import { anthropic } from '../llm/anthropic/index.ts';
import { bedrock } from '../llm/bedrock/index.ts';
import { gemini } from '../llm/gemini/index.ts';
import type { Provider } from '../llm/index.ts';
import { ollama } from '../llm/ollama/index.ts';
import { openaiChat } from '../llm/openai-chat/index.ts';
import { openaiResponses } from '../llm/openai-responses/index.ts';

export const providers: readonly Provider[] = [
  anthropic,
  openaiChat,
  openaiResponses,
  gemini,
  ollama,
  bedrock,
];

export function providerNamed(name: string): Provider {
  const provider = providers.find((candidate) => candidate.name === name);
  if (provider !== undefined) return provider;
  throw new PolypodError(
    'not-found',
    `no provider is called "${name}": there are ${providers.map(({ name: known }) => known).join(', ')}`,
  );
}

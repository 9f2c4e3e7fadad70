/** The product at a glance: every provider, door and tool there is. */
import { anthropic } from './llm/anthropic/index.ts';
import { gemini } from './llm/gemini/index.ts';
import type { Provider } from './llm/index.ts';
import { ollama } from './llm/ollama/index.ts';
import { openaiChat } from './llm/openai-chat/index.ts';
import { openaiResponses } from './llm/openai-responses/index.ts';

export const providers: readonly Provider[] = [anthropic, openaiChat, openaiResponses, gemini, ollama];

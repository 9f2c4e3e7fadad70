/** Every provider, every door and every back end. */
import { PolypodError } from './base/index.ts';
import { anthropic } from './llm/anthropic/index.ts';
import { bedrock } from './llm/bedrock/index.ts';
import { gemini } from './llm/gemini/index.ts';
import { ACP_PROGRAMS, acpProgram } from './backends/acp/index.ts';
import { claude } from './backends/claude/index.ts';
import { codex } from './backends/codex/index.ts';
import { pi } from './backends/pi/index.ts';
import type { AgentProgram } from './backends/index.ts';
import type { Provider } from './llm/index.ts';
import { ollama } from './llm/ollama/index.ts';
import { openaiChat } from './llm/openai-chat/index.ts';
import { openaiResponses } from './llm/openai-responses/index.ts';
import { acpDoor } from './protocols/acp/door.ts';
import { hldDoor } from './protocols/hld/door.ts';
import { podDoor } from './protocols/pod/door.ts';
import { rpcDoor } from './protocols/rpc/door.ts';
import { tasksDoor } from './protocols/tasks/door.ts';

export const providers: readonly Provider[] = [
  anthropic,
  openaiChat,
  openaiResponses,
  gemini,
  ollama,
  bedrock,
];

/** Each describes itself here; its code is loaded when it is opened. */
export const doors = [podDoor, hldDoor, rpcDoor, acpDoor, tasksDoor] as const;
export { podDoor };
export type KnownDoor = (typeof doors)[number];

/** Other agents that can do the work of a session. Their code is loaded with the first session. */
export const backends: readonly AgentProgram[] = [claude, codex, ...ACP_PROGRAMS, pi];

/** A known back end, or any program that speaks ACP; undefined if the name is unknown and no command is given. */
export function backendProgram(
  name: string,
  command: readonly [string, ...string[]] | undefined,
): AgentProgram | undefined {
  const known = backends.find((candidate) => candidate.name === name);
  if (known !== undefined || command === undefined) return known;
  const install = `correct its command in config.yaml (backends.${name}.command)`;
  const signIn = 'sign in with the program itself, or pass its key with pass_env';
  return acpProgram({
    name,
    title: name,
    command,
    install,
    signIn,
    env: [],
    // Tried, because only its answer to `initialize` says what it can do.
    capabilities: { resume: true, fork: true },
    clientAccess: true,
  });
}

export function providerNamed(name: string): Provider {
  const provider = providers.find((candidate) => candidate.name === name);
  if (provider !== undefined) return provider;
  throw new PolypodError(
    'not-found',
    `no provider is called "${name}": there are ${providers.map(({ name: known }) => known).join(', ')}`,
  );
}

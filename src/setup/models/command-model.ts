import { randomUUID } from 'node:crypto';
import { type Llm, type LlmEvent, type LlmRequest, contentText } from '../../llm/index.ts';
import type { ModelChoice, ReadyModel } from '../../pod/index.ts';
import { providerNamed } from '../../registry.ts';

/** The model choice for commands. No account has this name, so no reference can select it. */
export const COMMAND_MODEL: ModelChoice = { provider: 'polypod', modelId: 'command' };

export function isCommandModel({ provider, modelId }: ModelChoice): boolean {
  return provider === COMMAND_MODEL.provider && modelId === COMMAND_MODEL.modelId;
}

/**
 * A model that calls bash with the prompt as the command. It makes a command a normal run: with policy, approval,
 * cancellation, log and resume.
 */
export function commandModel(): ReadyModel {
  const llm: Llm = {
    provider: providerNamed('anthropic'),
    account: { name: COMMAND_MODEL.provider, api: 'anthropic', baseUrl: '' },
    async *stream(request) {
      yield* commandEvents(request);
    },
    async *batches(request) {
      yield commandEvents(request);
    },
  };
  const { provider: account, modelId: id } = COMMAND_MODEL;
  return {
    llm,
    model: {
      account,
      id,
      name: 'No model: the command itself',
      reasoning: false,
      input: ['text'],
      // A known cost of 0, so that a command does not make the session's cost unknown.
      price: { input: 0, output: 0 },
    },
  };
}

function commandEvents({ items }: LlmRequest): readonly LlmEvent[] {
  const last = items.at(-1);
  // The last item is the command's result: the answer is empty.
  if (last?.type !== 'message' || last.role !== 'user')
    return [STARTED, NO_TOKENS, { type: 'status', status: 'completed', stopReason: 'end-turn' }];
  const head = { index: 0, blockType: 'tool-use', id: `call_${randomUUID()}`, name: 'bash' } as const;
  const json = JSON.stringify({ command: contentText(last.content), apart: true });
  return [
    STARTED,
    { type: 'block-start', ...head },
    { type: 'block-delta', index: 0, delta: { type: 'input-json', json } },
    { type: 'block-stop', ...head },
    NO_TOKENS,
    { type: 'status', status: 'completed', stopReason: 'tool-use' },
  ];
}

const STARTED: LlmEvent = { type: 'status', status: 'started' };
const NO_TOKENS: LlmEvent = { type: 'usage', inputTokens: 0, outputTokens: 0, totalTokens: 0 };

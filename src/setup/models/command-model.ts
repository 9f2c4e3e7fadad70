import { randomUUID } from 'node:crypto';
import { type Llm, type LlmEvent, type LlmRequest, textOf } from '../../llm/index.ts';
import type { ModelChoice, ReadyModel } from '../../pod/index.ts';
import { providerNamed } from '../../registry.ts';

/** How a run chooses it. No account is called so: it is had by no reference. */
export const COMMAND_MODEL: ModelChoice = { provider: 'polypod', modelId: 'command' };

export function isCommandModel({ provider, modelId }: ModelChoice): boolean {
  return provider === COMMAND_MODEL.provider && modelId === COMMAND_MODEL.modelId;
}

/**
 * A model that calls bash with what it is told, word by word, and says nothing else. With it a command is a run like any
 * other: judged by the policy, asked about, cancelled, logged and resumed as such.
 */
export function commandModel(): ReadyModel {
  const llm: Llm = {
    provider: providerNamed('anthropic'),
    account: { name: COMMAND_MODEL.provider, wire: 'anthropic', baseUrl: '' },
    async *stream(request) {
      yield* answerTo(request);
    },
    async *batches(request) {
      yield answerTo(request);
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
      // Known to be nothing: a command must not make what its session cost unknown.
      price: { input: 0, output: 0 },
    },
  };
}

function answerTo({ items }: LlmRequest): readonly LlmEvent[] {
  const last = items.at(-1);
  // Behind the command stands its result: there is nothing to say about it.
  if (last?.type !== 'message' || last.role !== 'user')
    return [STARTED, NO_TOKENS, { type: 'status', status: 'completed', stopReason: 'end-turn' }];
  const head = { index: 0, blockType: 'tool-use', id: `call_${randomUUID()}`, name: 'bash' } as const;
  const json = JSON.stringify({ command: textOf(last.content), apart: true });
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

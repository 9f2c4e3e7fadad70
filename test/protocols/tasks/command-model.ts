import { randomUUID } from 'node:crypto';
import { type Llm, type LlmEvent, type LlmRequest, textOf } from '../../../src/llm/index.ts';
import type { ReadyModel } from '../../../src/pod/index.ts';
import { providerNamed } from '../../../src/registry.ts';
import { MODEL } from '../../pod/stage.ts';

/** A model that calls bash with what it is told, word by word, and says nothing else. */
export function commandModel(): ReadyModel {
  const answer = ({ items }: LlmRequest): readonly LlmEvent[] => {
    const last = items.at(-1);
    if (last?.type !== 'message' || last.role !== 'user')
      return [
        { type: 'status', status: 'started' },
        { type: 'status', status: 'completed', stopReason: 'end-turn' },
      ];
    const head = { index: 0, blockType: 'tool-use', id: `call_${randomUUID()}`, name: 'bash' } as const;
    const json = JSON.stringify({ command: textOf(last.content) });
    return [
      { type: 'status', status: 'started' },
      { type: 'block-start', ...head },
      { type: 'block-delta', index: 0, delta: { type: 'input-json', json } },
      { type: 'block-stop', ...head },
      { type: 'status', status: 'completed', stopReason: 'tool-use' },
    ];
  };
  const llm: Llm = {
    provider: providerNamed('anthropic'),
    account: { name: 'polypod', wire: 'anthropic', baseUrl: '' },
    async *stream(request) {
      yield* answer(request);
    },
    async *batches(request) {
      yield answer(request);
    },
  };
  return { llm, model: { ...MODEL, account: 'polypod', id: 'command' } };
}

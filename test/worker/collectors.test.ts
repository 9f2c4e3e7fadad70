import { expect, it } from 'vitest';
import { openaiChat } from '../../src/llm/openai-chat/index.ts';
import { calls, echo, userContent, textAnswer, workerFixture } from './fixture.ts';
import { never } from './worker.contract.ts';

it('a worker collects text and calls from the first access to its collectors on', async () => {
  const { worker } = await workerFixture(
    openaiChat,
    [textAnswer('First.'), calls('echo'), textAnswer('Second.')],
    {
      tools: [echo],
    },
  );
  await worker.run(userContent('Go'), never());
  expect(worker.text.collected()).toEqual([]);
  expect(worker.calls.collected()).toEqual([]);
  const seen: string[] = [];
  worker.timeline.onToolUseBlock({
    kind: 'tool-use-block',
    scope: () => undefined,
    onEvent: (_scope, event) => void (event.type === 'start' && seen.push(event.name)),
  });
  await worker.run(userContent('Again'), never());
  expect(worker.text.collected()).toEqual(['Second.']);
  expect(seen).toEqual(['echo']);
});

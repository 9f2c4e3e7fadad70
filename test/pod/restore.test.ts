import { expect, it } from 'vitest';
import { persistedState, restore } from '../../src/pod/journal/index.ts';
import { checkpointBody, conversation, SessionTree } from '../../src/pod/session/index.ts';
import { PodView } from '../../src/pod/view/view.ts';
import { counting, HEADER } from './session/samples.ts';

it('a checkpoint preserves shell output that is not in the conversation yet', () => {
  const tree = new SessionTree(HEADER, counting());
  tree.append({ type: 'message', message: { role: 'user', content: 'hello' } });
  const unsentShellOutputs = [
    { shellId: 'one', message: { role: 'bashExecution', command: 'date', output: 'Monday', exitCode: 0 } },
  ];
  const state = persistedState(new PodView(), { receipts: [], unsentShellOutputs, lastSeq: 7 });
  tree.append(checkpointBody(conversation(tree), state));
  expect(restore(tree).unsentShellOutputs).toEqual(unsentShellOutputs);
  tree.append({ type: 'message', message: { role: 'bashExecution', command: 'date' } }, { shellId: 'one' });
  expect(restore(tree).unsentShellOutputs).toEqual([]);
});

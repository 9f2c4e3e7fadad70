import { describe, expect, it } from 'vitest';
import { denyAll } from '../../../src/cli/commands/run/permission-prompt.ts';
import { HEADLESS_RUN, isFromAnotherClient } from '../../../src/cli/hosting/headless-approvals.ts';
import type { Approval, PodEvent } from '../../../src/pod/index.ts';

const APPROVAL: Approval = {
  approvalId: 'a1',
  requestedAt: '',
  tool: 'bash',
  arguments: '{}',
  title: 'make',
  reason: 'It needs approval.',
};

async function askHeadless(isForAll: boolean, isAlone: boolean) {
  const reported: string[] = [];
  const ask = denyAll({
    isForAll,
    onDenied: () => reported.push('denied'),
    onLeft: ({ title }) => reported.push(`left ${title}`),
  });
  return { reported, answer: await ask(APPROVAL, { signal: new AbortController().signal, isAlone }) };
}

describe('a run without a person', () => {
  it('denies calls without the name of the user, if it is alone or headless', async () => {
    for (const [isForAll, isAlone] of [
      [false, true],
      [true, false],
      [true, true],
    ] as const) {
      const { reported, answer } = await askHeadless(isForAll, isAlone);
      expect(reported).toEqual(['denied']);
      expect(answer).toMatchObject({ decision: 'deny', by: HEADLESS_RUN });
    }
  });

  it('leaves them to other clients of the pod', async () => {
    expect(await askHeadless(false, false)).toEqual({ reported: ['left make'], answer: undefined });
  });
});

describe('another client', () => {
  const me = { by: 'ada', door: 'control' };
  const cancel = (by: string, door: string): PodEvent => ({
    type: 'commanded',
    seq: 1,
    command: 'cancel',
    by,
    door,
  });

  it('is a person or program with another name or door', () => {
    expect(isFromAnotherClient(cancel('ada', 'control'), me)).toBe(false);
    expect(isFromAnotherClient(cancel('bob', 'control'), me)).toBe(true);
    expect(isFromAnotherClient(cancel('ada', 'hld'), me)).toBe(true);
    expect(isFromAnotherClient(cancel(HEADLESS_RUN, 'control'), me)).toBe(false);
    expect(isFromAnotherClient({ type: 'state', seq: 1, state: 'idle' }, me)).toBe(false);
  });
});

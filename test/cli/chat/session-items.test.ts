import { expect, it } from 'vitest';
import { sessionItems } from '../../../src/cli/chat/session-items.ts';
import { NO_TOTALS } from '../../../src/pod/index.ts';
import type { Row } from '../../../src/pod/sessions.ts';

const NOW = new Date('2026-01-01T01:00:00Z');

function row(id: string, more: Partial<Row>): Row {
  return {
    id,
    file: `sessions/${id}.jsonl`,
    cwd: '/project',
    createdAt: '2026-01-01T00:00:00Z',
    updatedAt: '2026-01-01T00:00:00Z',
    state: 'idle',
    archived: false,
    totals: NO_TOTALS,
    approvals: [],
    queued: 0,
    tasks: [],
    ...more,
  };
}

it('a list of sessions shows names, titles, or the first sentences of prompts', () => {
  const prompt = { firstPrompt: 'Rename the parser. Then test.' };
  const items = sessionItems(
    [
      row('0000-aaaaaaaa', { ...prompt, name: 'mine', title: 'Parser renamed' }),
      row('0000-bbbbbbbb', { ...prompt, title: 'Parser renamed' }),
      row('0000-cccccccc', prompt),
      row('0000-dddddddd', {}),
      row('0000-eeeeeeee', { ...prompt, archived: true }),
    ],
    NOW,
  );
  expect(items.map(({ label, detail }) => [label, detail])).toEqual([
    ['mine', '   1 h  aaaaaaaa  Rename the parser. Then test.'],
    ['Parser renamed', '   1 h  bbbbbbbb  Rename the parser. Then test.'],
    ['Rename the parser', '   1 h  cccccccc'],
    ['dddddddd', '   1 h  dddddddd'],
  ]);
});

import { describe, expect, it } from 'vitest';
import { chord, type Key, lineText } from '../../src/terminal/index.ts';
import { approvalWidth, questionLines, renderApproval } from '../../src/cli/chat/screen/approval-lines.ts';
import {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type ApprovalState,
  answerIn,
  newApproval,
  updateApproval,
} from '../../src/cli/chat/screen/approval-dialog.ts';

const QUESTION: ApprovalQuestion = {
  title: 'bash wants to run',
  name: 'bash npm test',
  reason: 'It is not among the commands that run without asking.',
  detail: { type: 'command', text: 'npm test\nnpm publish' },
  more: ['timeout: 60'],
  arguments: { command: 'npm test' },
  rule: 'bash npm test *',
  findProblem: (edited) => (typeof edited.command === 'string' ? undefined : 'command has to be a text.'),
};

/** Presses keys some time after the question appeared. */
function press(
  keys: readonly (string | Key)[],
  question = QUESTION,
  afterMs = 1000,
): { state: ApprovalState; answer: ApprovalAnswer | undefined } {
  let state = newApproval(question, 0);
  for (const key of keys) {
    const pressed: Key = typeof key === 'string' ? { type: 'text', text: key } : key;
    const updated = updateApproval(state, pressed, { width: approvalWidth(state, 60), now: afterMs });
    if (updated.answer !== undefined) return updated;
    state = updated.state;
  }
  return { state, answer: undefined };
}

const ENTER = chord('enter');
const ESCAPE = chord('escape');
const renderedLines = (state: ApprovalState) =>
  renderApproval(state, { width: 60, rows: 20 }).lines.map(lineText);

describe('a question for approval', () => {
  it('shows the full command, and what "always" would allow', () => {
    expect(questionLines(QUESTION, 40).map(lineText)).toEqual([
      '? bash wants to run',
      '  It is not among the commands that run',
      '  without asking.',
      '',
      '  npm test',
      '  npm publish',
      '  timeout: 60',
    ]);
    expect(renderedLines(newApproval(QUESTION, 0))).toEqual([
      '? bash npm test',
      'y yes, once   a always   p in this project   n no   e edit',
      'v view   Esc later',
      'always means: bash npm test *',
    ]);
  });

  it('shows the hidden parts of a command', () => {
    const text = 'echo ok\u001b[2K\u001b[1Arm -rf /\u202e';
    const lines = questionLines({ ...QUESTION, detail: { type: 'command', text } }, 60);
    expect(lines.map(lineText).at(-2)).toBe('  echo ok␛[2K␛[1Arm -rf /\uFFFD');
    const returned = questionLines({ ...QUESTION, detail: { type: 'command', text: 'rm -rf /\rls' } }, 60);
    expect(returned.map(lineText).at(-2)).toBe('  rm -rf /␍ls');
  });

  it.each<[string, readonly (string | Key)[], ApprovalAnswer]>([
    ['y', ['y'], { type: 'once' }],
    ['a', ['a'], { type: 'always', where: 'session' }],
    ['p', ['p'], { type: 'always', where: 'project' }],
    ['Esc', [ESCAPE], { type: 'later' }],
    ['n and enter', ['n', ENTER], { type: 'deny', comment: '' }],
    ['n and a comment', ['n', 'use yarn', ENTER], { type: 'deny', comment: 'use yarn' }],
    ['n, back, y', ['n', 'no', ESCAPE, 'y'], { type: 'once' }],
    ['e and enter', ['e', ENTER], { type: 'edited', arguments: { command: 'npm test' } }],
    [
      'e and another command',
      [
        'e',
        chord('ctrl-home'),
        chord('ctrl-end'),
        ...Array<Key>(3).fill(chord('backspace')),
        ' --all"}',
        ENTER,
      ],
      { type: 'edited', arguments: { command: 'npm test --all' } },
    ],
  ])('is answered by %s', (_, keys, answer) => {
    expect(press(keys).answer).toEqual(answer);
  });

  it('offers no "always" without a rule', () => {
    const question = { ...QUESTION, rule: undefined };
    expect(press(['a'], question).answer).toBeUndefined();
    expect(renderedLines(newApproval(question, 0))).toEqual([
      '? bash npm test',
      'y yes, once   n no   e edit   v view   Esc later',
    ]);
  });

  it('ignores letters typed before the question could be read, and pastes', () => {
    expect(press(['y'], QUESTION, 100).answer).toBeUndefined();
    expect(press([{ type: 'paste', text: 'y' }]).state.mode).toBe('choosing');
    expect(press(['yes']).answer).toBeUndefined();
    expect(press([ENTER]).answer).toBeUndefined();
  });

  it('ignores the rest of a text that was being typed when it appeared', () => {
    let state = newApproval(QUESTION, 0);
    for (const now of [300, 600, 900, 1200]) {
      const updated = updateApproval(state, { type: 'text', text: 'y' }, { width: 60, now });
      expect(updated.answer).toBeUndefined();
      ({ state } = updated);
    }
    expect(updateApproval(state, { type: 'text', text: 'y' }, { width: 60, now: 1600 }).answer).toEqual({
      type: 'once',
    });
  });

  it('shows the whole call again with v', () => {
    const question = newApproval(QUESTION, 0);
    expect(updateApproval(question, { type: 'text', text: 'v' }, { width: 60, now: 1000 })).toEqual({
      state: question,
      answer: undefined,
      showsFullCall: true,
    });
  });

  it('rejects edited arguments until they are valid', () => {
    const clear = [
      chord('ctrl-home'),
      ...Array<Key>(4).fill(chord('ctrl-k')),
      chord('ctrl-k'),
      chord('ctrl-k'),
    ];
    const broken = press(['e', ...clear, '{"command": 1', ENTER]);
    expect(broken.answer).toBeUndefined();
    expect(renderedLines(broken.state).at(-1)).toBe('That is not JSON: correct it, or press Esc to go back.');
    expect(renderedLines(press(['e', ...clear, '[1]', ENTER]).state).join()).toContain(
      'have to be a JSON object',
    );
    expect(renderedLines(press(['e', ...clear, '{"command": 1}', ENTER]).state).at(-1)).toBe(
      'command has to be a text.',
    );
  });

  it.each<[string, ApprovalAnswer | undefined]>([
    ['y', { type: 'once' }],
    [' Yes ', { type: 'once' }],
    ['a', { type: 'always', where: 'session' }],
    ['p', { type: 'always', where: 'project' }],
    ['n', { type: 'deny', comment: '' }],
    ['no use yarn', { type: 'deny', comment: 'use yarn' }],
    ['later', { type: 'later' }],
    ['yes please do', undefined],
    ['', undefined],
  ])('without keys, the line %j answers it', (line, answer) => {
    expect(answerIn(line, QUESTION)).toEqual(answer);
  });

  it('places the cursor in the comment', () => {
    expect(renderApproval(press(['n', 'so']).state, { width: 60, rows: 20 })).toMatchObject({
      cursor: { row: 1, column: 4 },
    });
  });
});

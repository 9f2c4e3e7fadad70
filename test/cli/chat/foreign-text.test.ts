import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AnswerPrinter } from '../../../src/cli/output/answer-printer.ts';
import { logLine } from '../../../src/cli/output/log-line.ts';
import { explainFailure } from '../../../src/cli/output/explain-failure.ts';
import { brush, colourDiff } from '../../../src/terminal/colors.ts';
import { askOnTerminal } from '../../../src/cli/commands/run/permission-prompt.ts';
import { RunPrinter } from '../../../src/cli/commands/run/run-printer.ts';
import { table } from '../../../src/cli/output/table.ts';
import { textStreamFor } from '../../../src/terminal/sanitize-stream.ts';
import type { PodFact } from '../../../src/pod/index.ts';
import { textAnswer, cliFixture } from '../daemon.ts';
import { screens } from '../screens.ts';

/** Retitles the window and clears the screen. */
const ATTACK = '\u001b]0;PWNED\u0007\u001b[2J';
const SHOWN = '␛]0;PWNED␇␛[2J';
const PLAIN = brush(false);

const delta = (text: string): PodFact =>
  ({ type: 'block-delta', index: 0, delta: { type: 'text', text } }) as PodFact;

/** The end of a run with this answer: a pipe receives the answer then. */
const ending = (text: string): readonly PodFact[] => {
  const item = { type: 'message', role: 'assistant', content: [{ type: 'text', text }] };
  const totals = { turns: 1, toolCalls: 1, inputTokens: 1, outputTokens: 1 };
  return [
    { type: 'llm-end', outcome: 'completed', items: [item] } as unknown as PodFact,
    { type: 'run-end', outcome: { status: 'finished' }, totals } as unknown as PodFact,
  ];
};

describe('text from models, tools and clients cannot control the terminal', () => {
  it('as a cell of a table, whose rows stay one line', () => {
    expect(
      table([
        ['name', 'about'],
        [`x\n${ATTACK}`, ATTACK],
      ]).split('\n'),
    ).toEqual([`name${' '.repeat(`x␊${SHOWN}`.length - 2)}about`, `x␊${SHOWN}  ${SHOWN}`, '']);
  });

  it('as a diff, of which nothing is hidden', () => {
    expect(colourDiff(`+a${ATTACK}\n+rm -rf /\rls`, PLAIN, 10)).toBe(`+a${SHOWN}\n+rm -rf /␍ls`);
  });

  it('as an entry of the log', () => {
    const line = logLine({ time: '', level: 'info', message: ATTACK, fields: { name: ATTACK } }, PLAIN);
    expect(line).toBe(` info  ${SHOWN} name=${SHOWN}\n`);
  });

  it('as the error message of a provider', () => {
    const account = { name: 'groq', api: 'openai', baseUrl: 'http://x' };
    const failure = { kind: 'server', message: ATTACK, retryable: false } as Parameters<
      typeof explainFailure
    >[0];
    expect(explainFailure(failure, account, 'groq/m')).toContain(SHOWN);
  });

  it.each([
    [['a\r', '\nb'], 'a\nb'],
    [['\ud83d', '\ude00'], '😀'],
    [['a\u001b', '[2J'], 'a␛[2J'],
    [['a\tb\n', '\u202etxt'], 'a\tb\n\uFFFDtxt'],
    [['end\r'], 'end␍'],
  ])('while it arrives in chunks: %j', (pieces, shown) => {
    const written = (isTTY: boolean) => {
      const stream = textStreamFor({ isTTY });
      return pieces.map((piece) => stream.push(piece)).join('') + stream.end();
    };
    expect(written(true)).toBe(shown);
    expect(written(false)).toBe(pieces.join(''));
  });

  it.each([
    [true, `${SHOWN}!\n`],
    [false, `${ATTACK}!\n`],
  ])('as an answer of run, which is unchanged in a pipe: terminal %s', (isTTY, expected) => {
    const { context, stdout, stderr } = screens(isTTY);
    const printer = new RunPrinter(context, false);
    printer.print([delta(ATTACK.slice(0, 3)), delta(`${ATTACK.slice(3)}!`)]);
    const call = { callId: 'c', name: 'bash', title: `ls ${ATTACK}` };
    printer.print([{ type: 'tool-start', call } as PodFact, ...ending(`${ATTACK}!`)]);
    printer.end();
    expect(stdout.text).toBe(expected);
    expect(stderr.text).toContain(`● ls ${SHOWN}\n`);
    expect(stderr.text).not.toContain(ATTACK);
  });

  it.each([
    [true, `${SHOWN}\n`],
    [false, `${ATTACK}\n`],
  ])('as an answer of ask, which is unchanged in a pipe: terminal %s', async (isTTY, expected) => {
    const { context, stdout } = screens(isTTY);
    const model = { account: 'sim', id: 'm', name: 'm', reasoning: false, input: ['text'] } as const;
    await new AnswerPrinter(context, true).print(
      [
        { type: 'block-delta', index: 0, delta: { type: 'text', text: ATTACK } },
        { type: 'status', status: 'completed', stopReason: 'end-turn' },
      ] as Parameters<AnswerPrinter['print']>[0],
      model,
    );
    expect(stdout.text).toBe(expected);
  });

  it('as an approval in polypod run, which shows the complete call', async () => {
    const { context, stdin, stderr } = screens(true);
    const answer = askOnTerminal(context, () => {})(
      {
        approvalId: 'a1',
        requestedAt: '',
        tool: 'bash',
        arguments: JSON.stringify({ command: `ls\n${ATTACK}` }),
        title: `ls ${ATTACK}`,
        reason: 'It needs approval.',
      },
      { signal: context.signal, isAlone: true },
    );
    await stderr.shows('Allow it?');
    stdin.write('y\n');
    expect(await answer).toEqual({ decision: 'approve' });
    expect(stderr.text).toContain(`bash wants to run: ls ${SHOWN}\n    command:\n      ls\n      ${SHOWN}\n`);
    expect(stderr.text).not.toContain(ATTACK);
  });

  it('in lists of sessions and keys, in events, and in completions', async () => {
    const { polypod: run, dataDirectory } = await cliFixture([textAnswer(`Hi ${ATTACK}`)]);
    const { stdout } = await run('run', '--no-daemon', `Look: ${ATTACK}`);
    expect(stdout).toBe(`Hi ${ATTACK}\n`);
    await run('keys', 'create', '--owner', 'ci');
    const keys = join(dataDirectory, 'tasks/keys.json');
    // An owner that was stored before such names were rejected.
    writeFileSync(keys, readFileSync(keys, 'utf8').replace('"ci"', JSON.stringify(`ci${ATTACK}`)));
    const [session] = JSON.parse((await run('ls', '--json')).stdout) as readonly { readonly id: string }[];
    for (const args of [['ls'], ['logs', session?.id ?? ''], ['keys', 'list'], ['completion', 'sessions']]) {
      const result = await run(...args);
      expect(result.code).toBe(0);
      expect(result.stdout).toContain('␛]0;PWNED');
      expect(result.stdout).not.toMatch(/[^\n\t\P{Cc}]/u);
    }
  });
});

describe('output in the middle of an answer', () => {
  it.each([
    [true, 'half\n an answer\n', 'polypod: lost\npolypod: back\n'],
    [false, 'half an answer\n', 'polypod: lost\npolypod: back\n'],
  ])('starts on a new line: terminal %s', (isTTY, answer, expected) => {
    const { context, stdout, stderr } = screens(isTTY);
    const printer = new RunPrinter(context, false);
    printer.print([delta('half')]);
    for (const word of ['lost', 'back']) {
      printer.makeRoom();
      stderr.write(`polypod: ${word}\n`);
    }
    printer.print([delta(' an answer'), ...ending('half an answer')]);
    printer.end();
    expect(stdout.text).toBe(answer);
    expect(stderr.text.slice(0, expected.length)).toBe(expected);
  });
});

describe('an entry of the log', () => {
  it('names the doors instead of printing all their fields', () => {
    const doors = [
      { name: 'pod', state: 'open', address: '/run/pods' },
      { name: 'hld', state: 'off' },
    ];
    const fields = { doors, more: { text: 'x'.repeat(500) } };
    const line = logLine({ time: '', level: 'info', message: 'ready', fields }, PLAIN);
    expect(line).toContain(' doors=pod:open,hld:off ');
    expect(line.length).toBeLessThan(200);
  });
});

describe('a key that is refused', () => {
  it('is not looked for where the simulated model has none', () => {
    const account = { name: 'sim', api: 'anthropic', baseUrl: 'http://x' };
    const failure = { kind: 'auth', message: 'no', retryable: false } as Parameters<typeof explainFailure>[0];
    expect(explainFailure(failure, account, 'sim/offline')).toContain(
      'the built-in simulated model takes none',
    );
  });
});

describe('polypod ls', () => {
  it('marks archived sessions, and explains an empty list', async () => {
    const { polypod: run } = await cliFixture();
    expect((await run('ls')).stderr).toContain('no sessions; polypod run starts one');
    const id = (await run('new', '--name', 'old')).stdout.trim();
    expect((await run('ls', '--search', 'nowhere')).stderr).toBe(
      'no session contains every word of "nowhere"; polypod ls lists all sessions\n',
    );
    expect((await run('ls')).stdout).not.toContain('archived');
    await run('sessions', 'archive', id);
    expect((await run('ls')).stderr).toBe('only archived sessions; polypod ls --all shows them\n');
    expect((await run('ls', '--all')).stdout).toContain('idle, archived');
  });
});

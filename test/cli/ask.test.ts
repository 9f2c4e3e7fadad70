import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEFAULT_RETRY } from '../../src/llm/index.ts';
import { type SimAnswer, generatedText, type SimOptions, startSim } from '../../src/sim/index.ts';
import { polypod, start, temporaryDirectory } from './polypod.ts';

const KEY = 'sk-test-0123456789abcdefghij';

async function sim(script: readonly SimAnswer[], options: SimOptions = {}) {
  const server = await startSim({ script, ...options });
  onTestFinished(() => server.close());
  return server;
}

const anthropicAt = (url: string) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: KEY });

describe('polypod ask', () => {
  it('answers from the simulated model without an account, and reports that', async () => {
    const { code, stdout, stderr } = await polypod(['ask', 'What is a pod?']);
    expect(code).toBe(0);
    expect(stdout).toContain('You asked: What is a pod?');
    expect(stderr).toContain('using the built-in simulated model. It is a script, not an intelligence.');
  });

  it.each([
    ['anthropic', (url: string) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: KEY })],
    ['openai', (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: KEY })],
    ['google', (url: string) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: KEY })],
    ['ollama', (url: string) => ({ OLLAMA_HOST: url })],
  ])('finds %s in the environment', async (_vendor, env) => {
    const server = await sim([{ parts: [{ thinking: 'Hm.' }, { text: 'Grüße,\nWelt' }] }]);
    const { code, stdout, stderr } = await polypod(['ask', 'Hi'], { env: env(server.url) });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'Grüße,\nWelt\n', stderr: '' });
  });

  it('reaches a compatible vendor through a configured account', async () => {
    const server = await sim([{ parts: [{ text: 'From the vendor.' }] }], { keys: [KEY] });
    const home = temporaryDirectory();
    const config = join(home, 'config.yaml');
    const account = `{ wire: openai-chat, base_url: "${server.url}/v1", key_env: MY_KEY }`;
    writeFileSync(config, `version: 1\nmodel: mine/some-model\naccounts:\n  mine: ${account}\n`);
    const env = { HOME: home, POLYPOD_CONFIG: config, MY_KEY: KEY };
    const { code, stdout } = await polypod(['ask', 'Hi'], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'From the vendor.\n' });
    expect(server.requests[0]).toMatchObject({ path: '/v1/chat/completions', body: { model: 'some-model' } });
  });

  it('reads the prompt from stdin, alone or with arguments', async () => {
    const server = await sim([{ parts: [{ text: '1' }] }, { parts: [{ text: '2' }] }]);
    const env = anthropicAt(server.url);
    await polypod(['ask'], { env, input: 'all of it' });
    await polypod(['ask', 'Review:', '-'], { env, input: 'the diff' });
    expect(JSON.stringify(server.requests[0]?.body)).toContain('all of it');
    expect(JSON.stringify(server.requests[1]?.body)).toContain('Review: the diff');
  });

  it('sends an image, a system prompt and the settings', async () => {
    const server = await sim([{ parts: [{ text: 'A pixel.' }] }]);
    const home = temporaryDirectory();
    writeFileSync(join(home, 'dot.png'), 'not really');
    const options = [
      '-i',
      join(home, 'dot.png'),
      '-s',
      'Be brief.',
      '--max-tokens',
      '50',
      '--temperature',
      '0.5',
    ];
    const model = ['-m', 'anthropic/claude-sonnet-4-5'];
    await polypod(['ask', ...options, ...model, 'What is it?'], {
      env: { ...anthropicAt(server.url), HOME: home },
    });
    expect(server.requests[0]?.body).toMatchObject({
      model: 'claude-sonnet-4-5',
      max_tokens: 50,
      temperature: 0.5,
      system: [{ text: 'Be brief.' }],
      messages: [{ content: [{ type: 'text' }, { type: 'image', source: { media_type: 'image/png' } }] }],
    });
  });

  it('prints the event stream as JSON lines', async () => {
    const server = await sim([{ parts: [{ text: 'Hi' }] }]);
    const { stdout } = await polypod(['ask', '--json', 'Hello'], { env: anthropicAt(server.url) });
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    const types = events.map(({ type }) => type).filter((type) => type !== 'ping');
    expect(types).toEqual(['status', 'block-start', 'block-delta', 'block-stop', 'usage', 'status']);
  });

  it('retries when the provider is overloaded, and shows it', async () => {
    const fault = { kind: '529', times: 2 } as const;
    const server = await sim([{ parts: [{ text: 'At last.' }], fault }]);
    const { code, stdout, stderr } = await polypod(['ask', 'Hi'], { env: anthropicAt(server.url) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'At last.\n' });
    expect(stderr).toMatch(/attempt 2 in .* s\n.*attempt 3 in/);
    expect(server.requests).toHaveLength(3);
  });

  it('retries an answer that was cut, and writes only the complete answer to a pipe', async () => {
    const parts = [{ text: 'One two three four five six seven eight.' }];
    const server = await sim([{ parts, fault: { kind: 'cut', after: 2, times: 1 } }]);
    const { code, stdout, stderr } = await polypod(['ask', 'Count'], { env: anthropicAt(server.url) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'One two three four five six seven eight.\n' });
    expect(stderr).toMatch(/^polypod: .*; attempt 2 in .* s\n$/);
    expect(server.requests).toHaveLength(2);
  });

  it('prints every event of a cut answer with --json, and does not retry it', async () => {
    const parts = [{ text: 'One two three four five six seven eight.' }];
    const server = await sim([{ parts, pace: { chunkSize: 4 }, fault: { kind: 'cut', after: 6, times: 1 } }]);
    const { code, stdout } = await polypod(['ask', '--json', 'Count'], { env: anthropicAt(server.url) });
    expect(code).toBe(3);
    expect(stdout).toMatch(/"text":"One[^]*"type":"block-abort"[^]*"status":"failed"/);
    expect(server.requests).toHaveLength(1);
  });

  it('waits for the time in Retry-After', async () => {
    const fault = { kind: '429', times: 1, retryAfterSeconds: 1 } as const;
    const server = await sim([{ parts: [{ text: 'ok' }], fault }]);
    const { code, stderr } = await polypod(['ask', 'Hi'], { env: anthropicAt(server.url) });
    expect(code).toBe(0);
    expect(stderr).toContain('attempt 2 in 1.0 s');
  });

  it('accepts a prompt of a megabyte, and -h as a word of a prompt', async () => {
    const input = 'word '.repeat(200_000);
    expect((await polypod(['ask', '-q', '--offline', '-'], { input })).code).toBe(0);
    expect((await polypod(['ask', '-q', '--offline', 'what', 'does', '--', '-h', 'mean'])).stdout).toContain(
      'what does -h mean',
    );
  });

  it('cancels cleanly on Ctrl-C', async () => {
    const server = await sim([{ parts: [{ text: generatedText(5000) }], pace: { delayMs: 20 } }]);
    const running = start(['ask', '--json', 'Go on'], anthropicAt(server.url));
    await running.waitForOutput('a simulated');
    running.child.kill('SIGINT');
    const { code, stdout, stderr } = await running.finished;
    expect(code).toBe(130);
    expect(stdout.endsWith('\n')).toBe(true);
    expect(stderr).toBe('');
  });

  it('writes nothing to a pipe if it is interrupted', async () => {
    const server = await sim([{ parts: [{ text: generatedText(5000) }], pace: { delayMs: 20 } }]);
    const running = start(['ask', 'Go on'], anthropicAt(server.url));
    await expect.poll(() => server.requests.length).toBe(1);
    running.child.kill('SIGINT');
    expect(await running.finished).toEqual({ code: 130, stdout: '', stderr: '' });
  });

  it.each([[[]], [['--json']]])('exits quietly when its reader closes the pipe: %j', async (options) => {
    const server = await sim([{ parts: [{ text: generatedText(200_000) }] }]);
    const running = start(['ask', ...options, 'Go on'], anthropicAt(server.url));
    await running.waitForOutput('a simulated');
    running.child.stdout.destroy();
    const { code, stderr } = await running.finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('exits with 4 when the model declines', async () => {
    const server = await sim([{ parts: [{ refusal: 'I would rather not.' }], stop: 'refusal' }]);
    const { code, stdout, stderr } = await polypod(['ask', 'Do it'], { env: anthropicAt(server.url) });
    expect({ code, stdout }).toEqual({ code: 4, stdout: 'I would rather not.\n' });
    expect(stderr).toContain('the model declined to answer');
  });

  it('records an exchange and replays it without a network', async () => {
    const server = await sim([{ parts: [{ text: 'On tape.' }] }]);
    const tapes = join(temporaryDirectory(), 'tapes');
    const model = ['-m', 'anthropic/claude-x'];
    await polypod(['ask', '--record', tapes, ...model, 'Hi'], { env: anthropicAt(server.url) });
    await server.close();
    const again = await polypod(['ask', '--replay', tapes, ...model, 'Hi']);
    expect(again).toEqual({ code: 0, stdout: 'On tape.\n', stderr: '' });
    const other = await polypod(['ask', '--replay', tapes, ...model, 'Something else']);
    expect(other.code).toBe(3);
    expect(other.stderr).toContain('Something else');
  });
});

describe('polypod ask explains in one sentence with the next step', () => {
  const cases: readonly [string, SimAnswer['fault'], number, RegExp][] = [
    ['a wrong key', { kind: '401' }, 2, /check the key: it comes from ANTHROPIC_API_KEY/],
    [
      'an unknown model',
      { kind: '404' },
      2,
      /check the model's name \(anthropic\/claude-x\): polypod models --account anthropic/,
    ],
    [
      'a cut stream',
      { kind: 'cut', after: 3 },
      3,
      /the connection broke .*; the answer is incomplete: try again/,
    ],
    [
      'a stream without an end',
      { kind: 'missing-finish' },
      3,
      /broke off before its end; the answer is incomplete: try again/,
    ],
    ['a prompt that is too long', { kind: 'context-too-long' }, 4, /shorten the prompt/],
    ['a web page instead of a stream', { kind: 'html' }, 3, /check the account's base URL/],
  ];

  it.each(cases)('%s', async (_title, fault, expected, sentence) => {
    const answer = { parts: [{ text: generatedText(200) }], fault };
    const server = await sim(Array.from({ length: DEFAULT_RETRY.maxAttempts }, () => answer));
    // -q: only the explanation, without a notice for each retry.
    const { code, stdout, stderr } = await polypod(['ask', '-q', '-m', 'anthropic/claude-x', 'Hi'], {
      env: anthropicAt(server.url),
    });
    expect(stdout).toBe('');
    expect(stderr).toMatch(sentence);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).not.toContain(KEY);
    expect(code).toBe(expected);
  });

  it('an unreachable host', async () => {
    const server = await sim([]);
    await server.close();
    const { code, stderr } = await polypod(['ask', '-q', 'Hi'], { env: anthropicAt(server.url) });
    expect(stderr).toMatch(
      /cannot reach http:.*ECONNREFUSED.*; check that http:.* is right and that the server is running/,
    );
    expect(code).toBe(3);
  });

  it.each([
    [['ask'], 'the prompt is empty: give it as an argument or on stdin'],
    [['ask', '-m', 'groq/x', 'Hi'], 'GROQ_API_KEY'],
    [['ask', '-m', 'nowhere/x', 'Hi'], 'nowhere'],
    [
      ['ask', '--thinking', 'hard', 'Hi'],
      '--thinking cannot be "hard": one of off, minimal, low, medium, high, xhigh',
    ],
    [['ask', '--max-tokens', 'many', 'Hi'], '--max-tokens takes a number from 1, not "many"'],
    [['ask', '--max-tokens'], '--max-tokens needs a value'],
    [['ask', '--json=1', 'Hi'], '--json takes no value'],
    [['ask', '--modle', 'x', 'Hi'], 'unknown option --modle; did you mean --model?'],
    [['ask', '-i', 'x.svg', 'Hi'], 'x.svg is not an image that models read: use png, jpg, gif or webp'],
    [['ask', '-i', 'x.png', 'Hi'], 'cannot read the image: ENOENT'],
    [['ask', '--record', 'a', '--replay', 'b', 'Hi'], '--record and --replay exclude each other'],
    [['akk'], 'there is no command "akk"; did you mean ask?'],
    [['ask', '--offline', '-m', 'x', 'Hi'], '--offline and --model exclude each other'],
    [['ask', '-m', 'anthropc', 'Hi'], 'did you mean anthropic?'],
  ])('%j', async (args, sentence) => {
    const { code, stdout, stderr } = await polypod(args);
    expect(stderr).toContain(sentence);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('an invalid configuration, with its line', async () => {
    const home = temporaryDirectory();
    const config = join(home, 'config.yaml');
    writeFileSync(config, 'version: 1\nmodle: x\n');
    const { code, stderr } = await polypod(['ask', 'Hi'], { env: { HOME: home, POLYPOD_CONFIG: config } });
    expect(stderr).toMatch(/config\.yaml:2:1.*modle.*model/s);
    expect(code).toBe(2);
  });
});

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAIN, polypod, start, temporaryDirectory } from './polypod.ts';

const FIXTURES = resolve('test/llm/fixtures');

describe('polypod', () => {
  it('prints its version and its commands', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(await polypod(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    const overview = await polypod([]);
    expect(overview.code).toBe(0);
    expect(overview.stdout).toContain('decode');
  });

  it.each(['ask', 'decode', 'models', 'record', 'replay', 'sim'])('helps with %s', async (command) => {
    const { code, stdout } = await polypod([command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: polypod ${command}`);
    expect(await polypod(['help', command])).toMatchObject({ stdout });
  });
});

describe('polypod decode', () => {
  const file = join(FIXTURES, 'anthropic/thinking-then-parallel-calls.jsonl');
  const expected = readFileSync(file.replace('.jsonl', '.events'), 'utf8');

  it('prints the events of a file, one JSON object per line', async () => {
    const { code, stdout, stderr } = await polypod(['decode', '--wire', 'anthropic', file]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expected, stderr: '' });
  });

  it('counts no token of Gemini twice when a later chunk leaves a count out', async () => {
    const recording = join(FIXTURES, 'gemini/stale-candidates.jsonl');
    const { stdout } = await polypod(['decode', '--wire', 'gemini', recording]);
    expect(stdout).toContain('"inputTokens":10,"outputTokens":68,"totalTokens":78,');
  });

  it('reads server-sent events from stdin', async () => {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    const input = lines.map((line) => `event: x\ndata: ${line}\n\n`).join('');
    expect(await polypod(['decode', '-w', 'anthropic'], { input })).toMatchObject({
      code: 0,
      stdout: expected,
    });
  });

  it('prints events as they arrive, not at the end', async () => {
    const running = start(['decode', '--wire', 'ollama', '-']);
    const line = JSON.stringify({ model: 'm', message: { role: 'assistant', content: 'live' }, done: false });
    running.child.stdin.write(`${line}\n`);
    await running.waitForOutput('"text":"live"');
    running.child.stdin.end();
    expect((await running.finished).code).toBe(3);
  });

  it('prints the block-aborts of a truncated stream and exits with 3', async () => {
    const { code, stdout } = await polypod([
      'decode',
      '--wire',
      'anthropic',
      join(FIXTURES, 'anthropic/cut-off.jsonl'),
    ]);
    expect(code).toBe(3);
    expect(stdout.match(/"type":"block-abort"/g)).toHaveLength(2);
    expect(stdout.trimEnd().endsWith('{"type":"status","status":"failed"}')).toBe(true);
  });

  it('--trace prints the parts without an event', async () => {
    const odd = join(FIXTURES, 'anthropic/server-tool-paused.jsonl');
    const { stderr } = await polypod(['decode', '--wire', 'anthropic', '--trace', odd]);
    expect(stderr).toContain('unknown event unheard_of');
  });

  it.each([
    [
      ['decode'],
      '--wire is needed: one of anthropic, openai-chat, openai-responses, gemini, ollama, bedrock',
    ],
    [['decode', '--wire', 'openai'], '--wire cannot be "openai": one of anthropic, openai-chat'],
    [['decode', '--wire', 'ollama', 'nowhere.jsonl'], 'cannot read nowhere.jsonl'],
    [['decode', '--wire', 'ollama', '.'], '. is a directory, not a recording'],
  ])('%j is refused clearly', async (args, sentence) => {
    const { code, stdout, stderr } = await polypod(args);
    expect(stderr).toContain(sentence);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('treats an empty recording as truncated', async () => {
    expect(await polypod(['decode', '--wire', 'gemini'])).toMatchObject({ code: 3 });
  });
});

describe('polypod sim, record and replay', () => {
  it('serves a script until it is interrupted', async () => {
    const script = join(temporaryDirectory(), 'script.json');
    writeFileSync(script, JSON.stringify([{ parts: [{ text: 'Scripted.' }] }]));
    const port = await freePort();
    const running = start(['sim', '--port', String(port), '--script', script]);
    await running.waitForOutput('listens on');
    const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: 'any' };
    expect(await polypod(['ask', 'Hi'], { env })).toMatchObject({ code: 0, stdout: 'Scripted.\n' });
    running.child.kill('SIGINT');
    expect((await running.finished).code).toBe(0);
  });

  it('repeats the answers of a script with loop, which can be YAML', async () => {
    const script = join(temporaryDirectory(), 'script.yaml');
    writeFileSync(script, 'loop: true\nanswers:\n  - parts: [{ text: One. }]\n  - parts: [{ text: Two. }]\n');
    const port = await freePort();
    const running = start(['sim', '--port', String(port), '--script', script]);
    await running.waitForOutput('listens on');
    const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: 'any' };
    const answers: string[] = [];
    for (let times = 0; times < 3; times += 1) answers.push((await polypod(['ask', 'Hi'], { env })).stdout);
    expect(answers).toEqual(['One.\n', 'Two.\n', 'One.\n']);
  });

  it.each([
    ['[\n\t{ "parts": [{ "txt": "x" }] }\n]', ':2:16: 0.parts.0.txt is not a key: did you mean "text"?'],
    ['[{ "parts": [{ "text": "x", "refusal": "y" }] }]', 'must have exactly one of text, thinking'],
    ['[{ "parts": [{ "refusal": "x", "chunkSize": 2 }] }]', 'has chunkSize, which belongs to text'],
    ['[{ "parts": [] },\n { "part": [] }]', ':2:4: 1.part is not a key: did you mean "parts"?'],
    ['[{ "parts": [], "stop": "never" }]', 'stop must be one of end-turn'],
    ['[{ "parts": [], "fault": { "kind": "quake" } }]', 'fault.kind must be one of'],
    ['{ "answers": [] }', 'answers needs at least one answer'],
    ['{ "parts": [] }', 'is not a key'],
    ['[{', ':1:'],
  ])('rejects the script %j with the line', async (text, sentence) => {
    const script = join(temporaryDirectory(), 'script.json');
    writeFileSync(script, text);
    const { code, stdout, stderr } = await polypod(['sim', '--script', script]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
    expect(stderr).toContain(`${script}:`);
  });

  it('records exchanges without the key, and replays them', async () => {
    const [simPort, recordPort, replayPort] = [await freePort(), await freePort(), await freePort()];
    const sim = start(['sim', '--port', String(simPort)]);
    await sim.waitForOutput('listens on');
    const tapes = join(temporaryDirectory(), 'tapes');
    const recorder = start([
      'record',
      '--to',
      tapes,
      '--port',
      String(recordPort),
      `http://127.0.0.1:${simPort}`,
    ]);
    await recorder.waitForOutput('Recording');
    const key = 'sk-ant-0123456789abcdefghij';
    const at = (port: number) => ({ ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, ANTHROPIC_API_KEY: key });
    const first = await polypod(['ask', 'Hello tape'], { env: at(recordPort) });
    expect(first.stdout).toContain('Hello tape');
    recorder.child.kill('SIGTERM');
    await recorder.finished;
    sim.child.kill('SIGTERM');
    const [tape] = readdirSync(tapes);
    expect(readFileSync(join(tapes, tape ?? ''), 'utf8')).not.toContain(key);

    const player = start(['replay', tapes, '--port', String(replayPort), '--instant']);
    await player.waitForOutput('Replaying');
    expect(await polypod(['ask', 'Hello tape'], { env: at(replayPort) })).toEqual(first);
    player.child.kill('SIGINT');
    expect((await player.finished).code).toBe(0);
  });

  it('accepts only the given key', async () => {
    const port = await freePort();
    const running = start(['sim', '--port', String(port), '--key'], { POLYPOD_SIM_KEY: 'the-right-one' });
    await running.waitForOutput('listens on');
    const env = { ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, ANTHROPIC_API_KEY: 'a-wrong-one' };
    expect((await polypod(['ask', 'Hi'], { env })).code).toBe(2);
    expect((await polypod(['ask', 'Hi'], { env: { ...env, ANTHROPIC_API_KEY: 'the-right-one' } })).code).toBe(
      0,
    );
  });

  it.each([
    [['sim', '--fault', 'earthquake'], '--fault cannot be "earthquake"'],
    [['sim', '--script', 'nowhere.json'], 'cannot read the script'],
    [['sim', '--key'], 'POLYPOD_SIM_KEY'],
    [['record'], 'polypod record --to DIR PROVIDER|URL'],
    [['record', '--to', MAIN, 'anthropic'], 'cannot record into'],
    [['sim', 'extra'], 'sim takes no argument'],
    [['record', '--to', 'x', 'ftp://nowhere'], 'ftp://nowhere'],
    [['replay'], 'polypod replay DIR'],
    [['replay', 'nowhere'], 'nowhere'],
  ])('%j is refused clearly', async (args, sentence) => {
    const { code, stdout, stderr } = await polypod(args);
    expect(stderr).toContain(sentence);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });
});

describe('polypod models', () => {
  it('lists the known models, as a table and as JSON', async () => {
    const { code, stdout } = await polypod(['models', '--account', 'anthropic']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^model +context +output/);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .slice(1)
        .every((line) => line.startsWith('anthropic/')),
    ).toBe(true);
    const json = await polypod(['models', '--json']);
    expect((JSON.parse(json.stdout) as unknown[]).length).toBeGreaterThan(10);
  });

  it('merges models.json of the user into the list, and reports an error in it', async () => {
    const home = temporaryDirectory();
    const env = { HOME: home, POLYPOD_CONFIG: join(home, 'config.yaml') };
    writeFileSync(
      join(home, 'models.json'),
      JSON.stringify([{ account: 'ollama', id: 'mine', contextWindow: 8000 }]),
    );
    expect((await polypod(['models', '-a', 'ollama'], { env })).stdout).toMatch(/ollama\/mine +8k/);
    writeFileSync(
      join(home, 'models.json'),
      JSON.stringify([{ account: 'ollama', id: 'mine', contextWindow: 'big' }]),
    );
    const { code, stderr } = await polypod(['models'], { env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/models\.json.*contextWindow/);
  });

  it('refreshes the list from a catalogue, and stores it', async () => {
    const catalogue = {
      openai: {
        models: {
          'gpt-new': {
            name: 'New',
            modalities: { input: ['text'], output: ['text'] },
            limit: { context: 9000, output: 100 },
          },
        },
      },
    };
    const server = createServer((_, response) => response.end(JSON.stringify(catalogue))).listen(
      0,
      '127.0.0.1',
    );
    onTestFinished(() => void server.close());
    await new Promise((settle) => server.once('listening', settle));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api.json`;
    const home = temporaryDirectory();
    const refreshed = await polypod(['models', 'refresh', '--url', url], { env: { HOME: home } });
    expect(refreshed).toEqual({ code: 0, stdout: '1 models of 1 providers are known now.\n', stderr: '' });
    expect(existsSync(join(home, '.cache/polypod/models.json'))).toBe(true);
    expect((await polypod(['models', '-a', 'openai'], { env: { HOME: home } })).stdout).toMatch(
      /openai\/gpt-new +9k/,
    );
  });

  it.each([
    [['models', 'refesh'], 2, 'takes only "refresh"'],
    [['models', '-a', 'nobody'], 2, 'no model of nobody is known'],
    [['models', 'refresh', '--url', 'http://127.0.0.1:9/'], 3, 'cannot read http://127.0.0.1:9/'],
    [['models', 'refresh', '--url', 'nonsense'], 2, '"nonsense" is not an address'],
  ])('%j is refused clearly', async (args, expected, sentence) => {
    const { code, stderr } = await polypod(args);
    expect(stderr).toContain(sentence);
    expect(code).toBe(expected);
  });
});

/** A port that was free a moment ago. It is passed to the commands, so that the tests need not parse it from their output. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((settle) => server.once('listening', settle));
  const { port } = server.address() as AddressInfo;
  await new Promise((settle) => server.close(settle));
  return port;
}

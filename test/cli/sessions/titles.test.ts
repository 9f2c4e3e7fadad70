import { describe, expect, onTestFinished, test } from 'vitest';
import { arrayOf, isObject } from '../../../src/base/index.ts';
import { startSim } from '../../../src/sim/index.ts';
import { type CliFixture, cliFixture, textAnswer } from '../daemon.ts';
import { polypod, start } from '../polypod.ts';

const PROMPT = 'Rename the parser. Then run the tests.';

/** Sends a prompt through a chat without a terminal. */
async function chatted({ env, project }: CliFixture): Promise<void> {
  const { code, stderr } = await polypod(['chat', '--cwd', project], { env, input: `${PROMPT}\n` });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
}

async function rows({ polypod: run }: CliFixture): Promise<readonly Record<string, unknown>[]> {
  const { stdout } = await run('ls', '--json');
  return arrayOf(JSON.parse(stdout)).filter(isObject);
}

describe('the titles of chat sessions', () => {
  test('are written by the configured model, in the background, and listed', async () => {
    const fixture = await cliFixture([textAnswer('Renamed it.')]);
    const small = await startSim({ script: [textAnswer('"Parser and lexer"')] });
    onTestFinished(() => small.close());
    fixture.configure(
      `title_model: lab/tiny\naccounts:\n  lab: { wire: openai-chat, base_url: "${small.url}/v1", key: none }\n`,
    );
    await fixture.serve();
    await chatted(fixture);
    await expect
      .poll(async () => (await rows(fixture))[0]?.title, { timeout: 20_000 })
      .toBe('Parser and lexer');
    expect(JSON.stringify(small.requests[0]?.body)).toContain('Rename the parser');
    expect(small.requests).toHaveLength(1);
    expect(fixture.sim.requests).toHaveLength(1);
    const { stdout } = await fixture.polypod('ls');
    expect(stdout).toContain('Parser and lexer');
    expect(stdout).not.toContain('Rename the parser');
  });

  test('are logged if they cannot be written, and the first prompt is listed', async () => {
    const fixture = await cliFixture([textAnswer('Renamed it.')]);
    fixture.configure('title_model: nowhere/tiny\n');
    const daemon = await fixture.serve();
    await chatted(fixture);
    await daemon.waitForOutput('no title was written');
    const [row] = await rows(fixture);
    expect(row).toMatchObject({ firstPrompt: PROMPT });
    expect(row).not.toHaveProperty('title');
  });

  test.each([
    ['the server of the account is not the vendor’s own', ''],
    ['the configuration says so', 'titles: prompt\ntitle_model: anthropic/claude-haiku-5-5\n'],
  ])('are not written by a model if %s', async (_, yaml) => {
    const fixture = await cliFixture([textAnswer('Renamed it.'), textAnswer('Something else')]);
    fixture.configure(yaml);
    await fixture.serve();
    await chatted(fixture);
    await chatted(fixture);
    expect(fixture.sim.requests).toHaveLength(2);
    for (const row of await rows(fixture)) expect(row).not.toHaveProperty('title');
  });

  test('are not written for clients of the RPC protocol', async () => {
    const fixture = await cliFixture([textAnswer('Renamed it.'), textAnswer('Something else')]);
    fixture.configure('title_model: anthropic/claude-haiku-5-5\n');
    const rpc = start(['--mode', 'rpc'], fixture.env);
    rpc.child.stdin.write(`${JSON.stringify({ id: '1', type: 'prompt', message: PROMPT })}\n`);
    await rpc.waitForOutput('"agent_settled"');
    rpc.child.stdin.write('{"id":"2","type":"get_state"}\n');
    await rpc.waitForOutput('"id":"2"');
    expect(rpc.output().stdout).not.toContain('sessionName');
    rpc.child.stdin.end();
    await rpc.finished;
    expect(fixture.sim.requests).toHaveLength(1);
    expect((await rows(fixture))[0]).not.toHaveProperty('title');
  });

  test('are not written for polypod run', async () => {
    const fixture = await cliFixture([textAnswer('Renamed it.'), textAnswer('Something else')]);
    fixture.configure('title_model: anthropic/claude-haiku-5-5\n');
    await fixture.serve();
    await fixture.polypod('run', '--cwd', fixture.project, PROMPT);
    expect(fixture.sim.requests).toHaveLength(1);
    expect((await rows(fixture))[0]).not.toHaveProperty('title');
  });
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type SimOptions, startSim } from '../../../src/sim/index.ts';
import { polypod, temporaryDirectory } from '../polypod.ts';

async function simWith(options: SimOptions = {}) {
  const sim = await startSim({ script: () => ({ parts: [{ text: 'Yes.' }] }), ...options });
  onTestFinished(() => sim.close());
  return sim;
}

/** Writes the configuration and other files; returns the environment of the program. */
function homeWith(config: string, files: Readonly<Record<string, string>> = {}) {
  const home = temporaryDirectory();
  const directory = join(home, '.config/polypod');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'config.yaml'), config, { mode: 0o600 });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  return { HOME: home };
}

describe('an account', () => {
  it('gets its key from a command, and runs it again when the provider answers 401', async () => {
    const sim = await simWith({ keys: ['fresh-key'] });
    const env = homeWith(
      `model: work/any
accounts:
  work: { wire: anthropic, base_url: "${sim.url}", key_command: ["${process.execPath}", key.cjs, "$HOME"] }
`,
      {
        'key.cjs': `const fs = require('node:fs'); fs.appendFileSync('runs', 'x');
          console.log(fs.readFileSync('runs', 'utf8') === 'x' ? 'stale-key' : 'fresh-key')`,
      },
    );
    const { code, stdout, stderr } = await polypod(['ask', 'Hi'], { env });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'Yes.\n', stderr: '' });
    expect(sim.requests.map(({ headers }) => headers['x-api-key'])).toEqual(['stale-key', 'fresh-key']);
  });

  it('reports a command that fails, without its output and without a retry', async () => {
    const sim = await simWith();
    const env = homeWith(
      `model: work/any
accounts:
  work: { wire: anthropic, base_url: "${sim.url}", key_command: [sh, -c, "echo hunter2; echo hunter2 >&2; exit 7"] }
`,
    );
    const { code, stderr } = await polypod(['ask', 'Hi'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('the program "sh" of accounts.work.key_command');
    expect(stderr).toContain('ended with exit code 7: run the command in a terminal to see why');
    expect(stderr).not.toContain('hunter2');
    expect(sim.requests).toEqual([]);
  });

  it('sends headers from variables and files, and query parameters', async () => {
    const sim = await simWith();
    const env = homeWith(
      `model: work/any
accounts:
  work:
    wire: openai-chat
    base_url: "${sim.url}/v1"
    headers: { X-Team: blue, X-Token: { env: TEAM_TOKEN }, X-Id: { file: id.txt } }
    query: { api-version: 2025-04-01, region: "eu&us" }
`,
      { 'id.txt': 'file-value\n' },
    );
    const { code } = await polypod(['ask', 'Hi'], { env: { ...env, TEAM_TOKEN: 'env-value' } });
    expect(code).toBe(0);
    expect(sim.requests[0]).toMatchObject({
      path: '/v1/chat/completions?api-version=2025-04-01&region=eu%26us',
      headers: { 'x-team': 'blue', 'x-token': 'env-value', 'x-id': 'file-value' },
    });
    const missing = await polypod(['ask', 'Hi'], { env });
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain('no value for the header X-Token of work: set TEAM_TOKEN');
  });
});

describe('a model without an entry in the model list', () => {
  it.each([
    ['some-model', 32_000],
    ['anthropic/claude-opus-5-5', 128_000],
  ])('%s is not limited to a short answer', async (id, limit) => {
    const sim = await simWith();
    const env = homeWith(`accounts: { work: { wire: anthropic, base_url: "${sim.url}", key: any-key } }\n`);
    await polypod(['ask', '-m', `work/${id}`, 'Hi'], { env });
    expect(sim.requests[0]?.body).toMatchObject({ model: id, max_tokens: limit });
  });

  it('has no limit where the API requires none', async () => {
    const sim = await simWith();
    const env = homeWith(
      `accounts: { work: { wire: openai-chat, base_url: "${sim.url}/v1", key: any-key } }\n`,
    );
    await polypod(['ask', '-m', 'work/some-model', 'Hi'], { env });
    expect(Object.keys(sim.requests[0]?.body ?? {})).not.toContain('max_tokens');
  });
});

describe('Azure OpenAI', () => {
  it('is found in the environment: the v1 API with the key in its own header', async () => {
    const sim = await simWith({ keys: ['azure-key'] });
    const env = { AZURE_OPENAI_ENDPOINT: `${sim.url}/`, AZURE_OPENAI_API_KEY: 'azure-key' };
    const { code, stdout } = await polypod(['ask', '-m', 'azure/my-deployment', 'Hi'], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Yes.\n' });
    expect(sim.requests[0]).toMatchObject({
      path: '/openai/v1/responses',
      headers: { 'api-key': 'azure-key' },
      body: { model: 'my-deployment' },
    });
    expect(sim.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('takes Entra tokens from a command', async () => {
    const sim = await simWith({ keys: ['entra-token'] });
    const env = homeWith(
      `accounts:
  azure: { base_url: "${sim.url}/openai/v1", key_command: [echo, '{"accessToken":"entra-token","expires_on":4102444800}'] }
`,
    );
    const { code, stderr } = await polypod(['ask', '-m', 'azure/my-deployment', 'Hi'], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(sim.requests[0]?.headers).toMatchObject({ authorization: 'Bearer entra-token' });
    expect(sim.requests[0]?.headers).not.toHaveProperty('api-key');
  });

  it('speaks the API with a dated version and the deployment in the URL', async () => {
    const sim = await simWith({ keys: ['azure-key'] });
    const env = homeWith(
      `accounts:
  old:
    vendor: azure
    wire: openai-chat
    base_url: "${sim.url}/openai/deployments/{model}"
    query: { api-version: "2024-10-21" }
    key: azure-key
`,
    );
    const { code, stderr } = await polypod(['ask', '-m', 'old/my deployment', 'Hi'], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(sim.requests[0]?.path).toBe(
      '/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21',
    );
  });

  it('needs the address of the resource', async () => {
    const { code, stderr } = await polypod(['ask', '-m', 'azure/x', 'Hi'], {
      env: { AZURE_OPENAI_API_KEY: 'azure-key' },
    });
    expect(code).toBe(2);
    expect(stderr).toContain(
      'no address for azure: set AZURE_OPENAI_ENDPOINT to https://RESOURCE.openai.azure.com, or add base_url',
    );
  });
});

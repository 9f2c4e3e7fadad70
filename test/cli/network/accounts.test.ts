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

  it('reports a command that fails when the key must be renewed, without a retry', async () => {
    const sim = await simWith({ keys: ['fresh-key'] });
    const env = homeWith(
      `model: work/any
accounts:
  work: { wire: anthropic, base_url: "${sim.url}", key_command: [sh, -c, "test ! -e ran || exit 7; touch ran; echo stale"] }
`,
    );
    const { code, stderr } = await polypod(['ask', 'Hi'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain('ended with exit code 7: run the command in a terminal to see why');
    expect(stderr).not.toContain('cannot reach');
    expect(sim.requests).toHaveLength(1);
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

it('a command that fails when the key is renewed is a problem of the key', async () => {
  const sim = await simWith({ keys: ['another-key'] });
  const env = homeWith(
    `model: work/any
accounts:
  work: { wire: anthropic, base_url: "${sim.url}", key_command: [sh, -c, "test ! -e ran && touch ran && echo stale-key"] }
`,
  );
  const { code, stderr } = await polypod(['ask', 'Hi'], { env });
  expect(code).toBe(2);
  expect(stderr).toContain('ended with exit code 1: run the command in a terminal to see why');
  expect(stderr).toContain('check the key');
});

describe('Vertex AI', () => {
  const project = '/v1/projects/my-project/locations/global';
  const login = (url: string) =>
    JSON.stringify({
      type: 'authorized_user',
      client_id: 'client',
      client_secret: 'client-secret',
      refresh_token: 'refresh-secret',
      token_uri: `${url}/token`,
    });

  it('serves Claude and Gemini with one account and a token for its credentials', async () => {
    const sim = await simWith({ keys: ['ya29.issued'] });
    const env = homeWith(`accounts: { vertex: { base_url: "${sim.url}${project}" } }\n`, {
      'login.json': login(sim.url),
    });
    const GOOGLE_APPLICATION_CREDENTIALS = join(env.HOME, '.config/polypod/login.json');
    for (const model of ['claude-opus-5-5@20260901', 'gemini-3.8-flash']) {
      const asked = await polypod(['ask', '-m', `vertex/${model}`, 'Hi'], {
        env: { ...env, GOOGLE_APPLICATION_CREDENTIALS },
      });
      expect(asked).toMatchObject({ code: 0, stdout: 'Yes.\n', stderr: '' });
    }
    const [claude, gemini] = sim.requests.filter(({ path }) => path.includes('publishers'));
    expect(claude).toMatchObject({
      path: `${project}/publishers/anthropic/models/claude-opus-5-5@20260901:streamRawPredict`,
      headers: { authorization: 'Bearer ya29.issued' },
      body: { anthropic_version: 'vertex-2023-10-16', stream: true },
    });
    expect(claude?.body).not.toHaveProperty('model');
    expect(claude?.headers).not.toHaveProperty('anthropic-version');
    expect(gemini).toMatchObject({
      path: `${project}/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse`,
      headers: { authorization: 'Bearer ya29.issued' },
    });
  });

  it('gets a new token when the server answers 401, and takes its credentials from a file', async () => {
    const sim = await simWith({ keys: ['ya29.fresh'], tokens: ['ya29.stale', 'ya29.fresh'] });
    const env = homeWith(
      `accounts: { work: { vendor: vertex, base_url: "${sim.url}${project}", key_file: login.json } }\n`,
      { 'login.json': login(sim.url) },
    );
    const { code, stdout } = await polypod(['ask', '-m', 'work/claude-opus-5-5', 'Hi'], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Yes.\n' });
    expect(sim.requests.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      'Bearer ya29.stale',
      undefined,
      'Bearer ya29.fresh',
    ]);
  });

  it('replays a recorded answer without credentials', async () => {
    const sim = await simWith({ keys: ['ya29.issued'] });
    const env = homeWith(`accounts: { vertex: { base_url: "${sim.url}${project}" } }\n`, {
      'login.json': login(sim.url),
    });
    const GOOGLE_APPLICATION_CREDENTIALS = join(env.HOME, '.config/polypod/login.json');
    const ask = ['ask', '-m', 'vertex/claude-opus-5-5', 'Hi'];
    const file = join(env.HOME, 'tape');
    const recorded = await polypod([...ask, '--record', file], {
      env: { ...env, GOOGLE_APPLICATION_CREDENTIALS },
    });
    expect(recorded).toMatchObject({ code: 0, stdout: 'Yes.\n' });
    await sim.close();
    const replayed = await polypod([...ask, '--replay', file], { env });
    expect(replayed).toMatchObject({ code: 0, stdout: 'Yes.\n' });
  });

  it('takes tokens from a command', async () => {
    const sim = await simWith({ keys: ['ya29.printed'] });
    const env = homeWith(
      `accounts: { vertex: { base_url: "${sim.url}${project}", key_command: [echo, ya29.printed] } }\n`,
    );
    const { code, stderr } = await polypod(['ask', '-m', 'vertex/gemini-3.8-flash', 'Hi'], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(sim.requests[0]?.headers.authorization).toBe('Bearer ya29.printed');
  });

  it('names the next step if the project or the credentials are missing', async () => {
    const ask = ['ask', '-m', 'vertex/gemini-3.8-flash', 'Hi'];
    const noProject = await polypod(ask, { env: {} });
    expect(noProject.code).toBe(2);
    expect(noProject.stderr).toContain('no Google Cloud project: set GOOGLE_CLOUD_PROJECT, or add project');
    const env = homeWith('accounts: { vertex: { project: my-project } }\n');
    const noLogin = await polypod(ask, { env: { ...env, GCE_METADATA_HOST: '127.0.0.1:9' } });
    expect(noLogin.code).toBe(2);
    expect(noLogin.stderr).toContain('there are no Google Cloud credentials: run gcloud auth');
    const wire = homeWith('accounts: { vertex: { project: my-project, wire: gemini } }\n');
    expect((await polypod(ask, { env: wire })).stderr).toContain('its models determine the API');
  });

  it('is added and tested without a key', async () => {
    const sim = await simWith({ keys: ['ya29.issued'] });
    const env = homeWith('version: 1\n', { 'login.json': login(sim.url) });
    const GOOGLE_APPLICATION_CREDENTIALS = join(env.HOME, '.config/polypod/login.json');
    const add = ['accounts', 'add', 'vertex', '--project', 'my-project', '--location', 'eu', '--no-test'];
    expect((await polypod(add, { env })).code).toBe(0);
    const listed = await polypod(['accounts', 'list', '--json'], { env });
    expect(JSON.parse(listed.stdout)).toMatchObject([
      {
        name: 'vertex',
        baseUrl: 'https://aiplatform.eu.rep.googleapis.com/v1/projects/my-project/locations/eu',
      },
    ]);
    const tried = ['accounts', 'add', 'other', '--vendor', 'vertex', '--base-url', `${sim.url}${project}`];
    const { code, stderr } = await polypod([...tried, '--key-env', 'OTHER'], {
      env: { ...env, OTHER: login(sim.url) },
    });
    expect({ code, saved: stderr.includes('saved other') }).toEqual({ code: 0, saved: true });
    const tested = await polypod(['accounts', 'test', 'vertex', '-m', 'gemini-3.8-flash'], {
      env: { ...env, GOOGLE_APPLICATION_CREDENTIALS, HTTPS_PROXY: sim.url },
    });
    expect(tested.code).toBe(3);
    expect(tested.stderr).toContain('cannot reach https://aiplatform.eu.rep.googleapis.com');
  });

  it('has its credentials checked by the doctor', async () => {
    const env = homeWith('accounts: { vertex: { project: my-project } }\n');
    const GOOGLE_APPLICATION_CREDENTIALS = join(env.HOME, 'login.json');
    const examined = async () => {
      const { stdout } = await polypod(['doctor', '--json'], {
        env: { ...env, GOOGLE_APPLICATION_CREDENTIALS },
      });
      return stdout;
    };
    expect(await examined()).toContain('GOOGLE_APPLICATION_CREDENTIALS names cannot be read');
    writeFileSync(GOOGLE_APPLICATION_CREDENTIALS, login('http://127.0.0.1:9'));
    expect(await examined()).toContain('a login of gcloud in');
  });

  it('withholds the variable that names the credentials from commands of agents', async () => {
    const sim = await simWith({
      script: [
        { parts: [{ toolCall: { name: 'bash', arguments: { command: 'env' } } }] },
        { parts: [{ text: 'Done.' }] },
      ],
    });
    const env = homeWith(`accounts: { work: { wire: anthropic, base_url: "${sim.url}", key: any-key } }\n`);
    const GOOGLE_APPLICATION_CREDENTIALS = join(env.HOME, 'login.json');
    const { code } = await polypod(['run', '--no-daemon', '-m', 'work/any', '--mode', 'full-access', 'Hi'], {
      env: { ...env, GOOGLE_APPLICATION_CREDENTIALS, PLAIN: 'plain-value' },
    });
    expect(code).toBe(0);
    const results = JSON.stringify(sim.requests.at(-1)?.body);
    expect(results).toContain('PLAIN=plain-value');
    expect(results).not.toContain('GOOGLE_APPLICATION_CREDENTIALS');
  });
});

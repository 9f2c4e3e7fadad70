import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type SimOptions, startSim } from '../../../src/sim/index.ts';
import { privateAuthority } from '../../protocols/tasks/certificate.ts';
import { startProxy, startTlsFront } from '../../wire/proxy-server.ts';
import { polypod, temporaryDirectory } from '../polypod.ts';

const ID = 'AKIDEXAMPLE';
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const MODEL = 'us.anthropic.claude-sim-v1:0';
const ASK = ['ask', '-m', `bedrock/${MODEL}`, 'Hi'];
const ANSWER = { code: 0, stdout: 'From Bedrock.\n', stderr: '' };

async function simWith(keys: readonly string[] = [`${ID}:${SECRET}`], options: SimOptions = {}) {
  const sim = await startSim({ script: () => ({ parts: [{ text: 'From Bedrock.' }] }), keys, ...options });
  onTestFinished(() => sim.close());
  return sim;
}

/** A user of AWS: a home directory, and the environment that points to the simulator. */
function user(baseUrl: string) {
  const HOME = temporaryDirectory();
  mkdirSync(join(HOME, '.aws'));
  mkdirSync(join(HOME, '.config/polypod'), { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(HOME, name), text, { mode: 0o600 });
  return {
    HOME,
    configFile: join(HOME, '.config/polypod/config.yaml'),
    aws: (config: string, credentials = '') => {
      write('.aws/config', config);
      write('.aws/credentials', credentials);
    },
    configure: (yaml: string) => write('.config/polypod/config.yaml', yaml),
    env: { HOME, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: baseUrl, AWS_EC2_METADATA_DISABLED: 'true' },
  };
}

const KEYS = { AWS_ACCESS_KEY_ID: ID, AWS_SECRET_ACCESS_KEY: SECRET };
const CREDENTIALS = `aws_access_key_id = ${ID}\naws_secret_access_key = ${SECRET}\n`;

/** A program that prints credentials, as `credential_process` requires: each time the next of these secrets. */
function credentialProcess(home: string, secrets: readonly string[], expires = ''): string {
  const program = join(home, 'credentials.sh');
  const cases = secrets.map((secret, at) => `${at}) secret='${secret}' ;;`).join('\n');
  writeFileSync(
    program,
    `#!/bin/sh
count=$(cat "${home}/count" 2>/dev/null || echo 0)
echo $((count + 1)) > "${home}/count"
case $count in
${cases}
esac
echo "{\\"Version\\":1,\\"AccessKeyId\\":\\"${ID}\\",\\"SecretAccessKey\\":\\"$secret\\"${expires === '' ? '' : `,\\"Expiration\\":\\"${expires}\\"`}}"
`,
  );
  chmodSync(program, 0o755);
  return program;
}

/** The service that issues credentials for roles. It records the requests. */
async function startSts(secret = SECRET) {
  const requests: { readonly body: string; readonly headers: IncomingHttpHeaders }[] = [];
  const server = createServer((incoming, response) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (text: string) => (body += text));
    incoming.on('end', () => {
      requests.push({ body, headers: incoming.headers });
      response.writeHead(200, { 'content-type': 'text/xml' });
      response.end(`<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
<AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/models/polypod</Arn><AssumedRoleId>A:polypod</AssumedRoleId></AssumedRoleUser>
<Credentials><AccessKeyId>${ID}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey><SessionToken>the-session-token</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult>
<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></AssumeRoleResponse>`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  return { requests, port: (server.address() as AddressInfo).port };
}

describe('a Bedrock account', () => {
  it('signs with the access key in the environment, in its region', async () => {
    const sim = await simWith();
    const { env } = user(sim.url);
    const region = { AWS_REGION: 'eu-central-1' };
    expect(await polypod(ASK, { env: { ...env, ...KEYS, ...region, AWS_SESSION_TOKEN: 'token' } })).toEqual(
      ANSWER,
    );
    const [request] = sim.requests;
    expect(request?.path).toBe(`/model/${encodeURIComponent(MODEL)}/converse-stream`);
    expect(request?.headers).toMatchObject({
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/bedrock\//,
      ),
      'x-amz-security-token': 'token',
    });
  });

  it('sends a Bedrock API key as a bearer token', async () => {
    const sim = await simWith(['a-bedrock-api-key']);
    const { env } = user(sim.url);
    const key = { AWS_BEARER_TOKEN_BEDROCK: 'a-bedrock-api-key', AWS_REGION: 'us-east-1' };
    expect(await polypod(ASK, { env: { ...env, ...key } })).toEqual(ANSWER);
    expect(await polypod(['accounts', 'list', '--json'], { env: { ...env, ...key } })).toMatchObject({
      stdout: expect.stringContaining('"bedrock"'),
    });
  });

  it('uses a profile with its region, which takes precedence over keys in the environment', async () => {
    const sim = await simWith();
    const { env, aws } = user(sim.url);
    aws('[profile work]\nregion = ap-southeast-2\n', `[work]\n${CREDENTIALS}`);
    const wrong = { AWS_ACCESS_KEY_ID: 'AKIDOTHER', AWS_SECRET_ACCESS_KEY: 'other-secret' };
    expect(await polypod(ASK, { env: { ...env, ...wrong, AWS_PROFILE: 'work' } })).toEqual(ANSWER);
    expect(sim.requests[0]?.headers.authorization).toContain('/ap-southeast-2/bedrock/');
  });

  it('uses the profile and region of its configuration, and files that the environment names', async () => {
    const sim = await simWith();
    const { HOME, env, configure } = user(sim.url);
    const files = {
      AWS_CONFIG_FILE: join(HOME, 'aws-config'),
      AWS_SHARED_CREDENTIALS_FILE: join(HOME, 'aws-credentials'),
    };
    writeFileSync(files.AWS_CONFIG_FILE, '[profile lab]\nregion = us-west-2\n');
    writeFileSync(files.AWS_SHARED_CREDENTIALS_FILE, `[lab]\n${CREDENTIALS}`);
    configure('accounts:\n  bedrock: { profile: lab, region: eu-west-1 }\n');
    // The key of the environment is not used: the account names its credentials.
    const key = { AWS_BEARER_TOKEN_BEDROCK: 'a-bedrock-api-key' };
    expect(await polypod(ASK, { env: { ...env, ...files, ...key } })).toEqual(ANSWER);
    expect(sim.requests[0]?.headers.authorization).toContain('/eu-west-1/bedrock/');
  });

  it('runs the credential process of a profile, and again when its credentials are rejected', async () => {
    const sim = await simWith();
    const { HOME, env, aws } = user(sim.url);
    const program = credentialProcess(HOME, ['an-outdated-secret', SECRET]);
    aws(`[profile work]\nregion = us-east-1\ncredential_process = ${program}\n`);
    expect(await polypod(ASK, { env: { ...env, AWS_PROFILE: 'work' } })).toEqual(ANSWER);
    expect(readFileSync(join(HOME, 'count'), 'utf8')).toBe('2\n');
    expect(sim.requests).toHaveLength(2);
  });

  it.each([
    ['keeps credentials without an end for the next request', '', '1\n'],
    [
      'obtains credentials again that are about to expire',
      new Date(Date.now() + 120_000).toISOString(),
      '2\n',
    ],
  ])('%s', async (_what, expires, runs) => {
    const sim = await simWith(undefined, {
      script: ({ messages }) =>
        messages.length === 1
          ? { parts: [{ toolCall: { name: 'ls', arguments: { path: '.' } } }] }
          : { parts: [{ text: 'Listed.' }] },
    });
    const { HOME, env, aws } = user(sim.url);
    const program = credentialProcess(HOME, [SECRET, SECRET], expires);
    aws(`[profile work]\nregion = us-east-1\ncredential_process = ${program}\n`);
    const run = ['run', '-m', `bedrock/${MODEL}`, '--no-daemon', 'List it'];
    expect(await polypod(run, { env: { ...env, AWS_PROFILE: 'work' } })).toMatchObject({ code: 0 });
    expect(sim.requests).toHaveLength(2);
    expect(readFileSync(join(HOME, 'count'), 'utf8')).toBe(runs);
  });

  it('uses the SSO session of a profile, in the region of the session and through the proxy', async () => {
    const portal = 'portal.sso.eu-west-1.amazonaws.com';
    const received: string[] = [];
    const server = createServer((incoming, response) => {
      received.push(`${incoming.url} ${String(incoming.headers['x-amz-sso_bearer_token'])}`);
      response.writeHead(200, { 'content-type': 'application/json' });
      const roleCredentials = {
        accessKeyId: ID,
        secretAccessKey: SECRET,
        sessionToken: 'the-session-token',
        expiration: Date.now() + 3_600_000,
      };
      response.end(JSON.stringify({ roleCredentials }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const authority = privateAuthority();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
    const { port } = server.address() as AddressInfo;
    const proxy = await startProxy({ [`${portal}:443`]: await startTlsFront(port, authority.issue(portal)) });
    const sim = await simWith();
    const { HOME, env, aws } = user(sim.url);
    const start = 'https://company.awsapps.com/start';
    aws(
      `[profile work]\nregion = us-east-1\nsso_start_url = ${start}\nsso_region = eu-west-1\nsso_account_id = 123456789012\nsso_role_name = models\n`,
    );
    const cache = join(HOME, '.aws/sso/cache');
    mkdirSync(cache, { recursive: true });
    const token = {
      startUrl: start,
      region: 'eu-west-1',
      accessToken: 'sso-token',
      expiresAt: '2099-01-01T00:00:00Z',
    };
    const file = `${createHash('sha1').update(start).digest('hex')}.json`;
    writeFileSync(join(cache, file), JSON.stringify(token));
    writeFileSync(join(HOME, 'company.pem'), authority.cert);
    const network = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: join(HOME, 'company.pem') };
    expect(await polypod(ASK, { env: { ...env, ...network, AWS_PROFILE: 'work' } })).toEqual(ANSWER);
    expect(received).toEqual(['/federation/credentials?role_name=models&account_id=123456789012 sso-token']);
    expect(proxy.requests).toEqual([`CONNECT ${portal}:443`]);
    expect(sim.requests[0]?.headers.authorization).toContain('/us-east-1/bedrock/');
  });

  it('assumes its role, through the proxy of the environment', async () => {
    const [sim, sts] = [await simWith(), await startSts()];
    const proxy = await startProxy({ 'sts.company.test:80': sts.port });
    const { env, configure } = user(sim.url);
    configure(
      'accounts:\n  bedrock: { region: us-east-1, role_arn: "arn:aws:iam::123456789012:role/models" }\n',
    );
    const network = { HTTP_PROXY: proxy.url, AWS_ENDPOINT_URL_STS: 'http://sts.company.test' };
    expect(await polypod(ASK, { env: { ...env, ...KEYS, ...network } })).toEqual(ANSWER);
    expect(sim.requests[0]?.headers['x-amz-security-token']).toBe('the-session-token');
    expect(proxy.requests).toEqual(['POST http://sts.company.test/']);
    expect(sts.requests[0]?.body).toContain(
      `RoleArn=${encodeURIComponent('arn:aws:iam::123456789012:role/models')}&RoleSessionName=polypod`,
    );
    expect(sts.requests[0]?.headers.authorization).toContain(`Credential=${ID}/`);
  });

  it('assumes the role of a profile with the credentials of its source profile', async () => {
    const [sim, sts] = [await simWith(), await startSts()];
    const proxy = await startProxy({ 'sts.company.test:80': sts.port });
    const { env, aws } = user(sim.url);
    aws(
      '[profile models]\nregion = us-east-1\nrole_arn = arn:aws:iam::123456789012:role/models\nsource_profile = base\n',
      `[base]\n${CREDENTIALS}`,
    );
    const network = { HTTP_PROXY: proxy.url, AWS_ENDPOINT_URL_STS: 'http://sts.company.test' };
    expect(await polypod(ASK, { env: { ...env, ...network, AWS_PROFILE: 'models' } })).toEqual(ANSWER);
    expect(proxy.requests).toEqual(['POST http://sts.company.test/']);
  });

  it('reports missing credentials and a missing region with the next step', async () => {
    const sim = await simWith();
    const { env } = user('');
    const { AWS_ENDPOINT_URL_BEDROCK_RUNTIME: _, ...own } = env;
    const none = await polypod(ASK, { env: { ...own, AWS_REGION: 'us-east-1' } });
    expect(none.code).toBe(2);
    expect(none.stderr).toMatch(
      /no AWS credentials \(.*\): set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or/,
    );
    const nowhere = await polypod(ASK, { env: { ...own, ...KEYS } });
    expect(nowhere).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no AWS region: set AWS_REGION, or add region: us-east-1 to'),
    });
    const withKey = await polypod(ASK, { env: { ...own, AWS_BEARER_TOKEN_BEDROCK: 'a-key' } });
    expect(withKey).toMatchObject({ code: 2, stderr: expect.stringContaining('no region for bedrock') });
    const hostile = await polypod(ASK, { env: { ...own, ...KEYS, AWS_REGION: 'evil.example/x' } });
    expect(hostile).toMatchObject({ code: 2, stderr: expect.stringContaining('is not an AWS region') });
    expect(sim.requests).toEqual([]);
  });

  it('reports rejected credentials without them', async () => {
    const sim = await simWith();
    const { env } = user(sim.url);
    const secret = 'a-secret-that-is-not-accepted';
    const { code, stderr } = await polypod(ASK, {
      env: { ...env, AWS_ACCESS_KEY_ID: ID, AWS_SECRET_ACCESS_KEY: secret, AWS_REGION: 'us-east-1' },
    });
    expect(code).toBe(2);
    expect(stderr).toContain('does not match the signature you provided');
    expect(stderr).not.toContain(secret);
  });

  it('is recorded without credentials, and replayed without any', async () => {
    const sim = await simWith();
    const { HOME, env } = user(sim.url);
    const cassettes = join(HOME, 'cassettes');
    const secrets = { ...KEYS, AWS_SESSION_TOKEN: 'the-session-token', AWS_REGION: 'us-east-1' };
    expect(await polypod([...ASK, '--record', cassettes], { env: { ...env, ...secrets } })).toMatchObject({
      stdout: 'From Bedrock.\n',
    });
    const recorded = readdirSync(cassettes).map((name) => readFileSync(join(cassettes, name), 'utf8'));
    expect(recorded).toHaveLength(1);
    expect(recorded.join()).not.toMatch(
      new RegExp(`${ID}|${SECRET.slice(0, 8)}|the-session-token|AWS4-HMAC`),
    );
    expect(await polypod([...ASK, '--replay', cassettes], { env: { HOME } })).toMatchObject({
      code: 0,
      stdout: 'From Bedrock.\n',
    });
    expect(sim.requests).toHaveLength(1);
  });

  it('is never chosen because of credentials of AWS alone', async () => {
    const sim = await simWith();
    const { env } = user(sim.url);
    const { stdout } = await polypod(['ask', 'Hi'], {
      env: { ...env, ...KEYS, AWS_REGION: 'us-east-1', OLLAMA_HOST: 'http://127.0.0.1:9' },
    });
    expect(stdout).not.toContain('From Bedrock.');
    expect(sim.requests).toEqual([]);
  });

  it('withholds credentials of AWS from the commands of agents', async () => {
    const sim = await startSim({
      script: [
        { parts: [{ toolCall: { name: 'bash', arguments: { command: 'env' } } }] },
        { parts: [{ text: 'Done.' }] },
      ],
    });
    onTestFinished(() => sim.close());
    const { env } = user(sim.url);
    const secrets = {
      ...KEYS,
      AWS_ACCESS_KEY_ID: 'ASIAQWERTYUIOPASDFGH',
      AWS_SESSION_TOKEN: 'the-session-token',
      AWS_REGION: 'us-east-1',
    };
    const withKey = { ...env, ...secrets, AWS_BEARER_TOKEN_BEDROCK: 'a-bedrock-api-key' };
    const run = ['run', '-m', `bedrock/${MODEL}`, '--mode', 'full-access', '--no-daemon', 'Show it'];
    expect(await polypod(run, { env: withKey })).toMatchObject({ code: 0 });
    const sent = JSON.stringify(sim.requests.at(-1)?.body);
    expect(sent).toContain('AWS_REGION=us-east-1');
    for (const secret of ['ASIAQWERTYUIOPASDFGH', SECRET, 'the-session-token', 'a-bedrock-api-key'])
      expect(sent).not.toContain(secret);
  });
});

describe('polypod accounts', () => {
  const add = (...options: readonly string[]) => ['accounts', 'add', 'bedrock', '-m', MODEL, ...options];

  it('adds a Bedrock account with a profile, region and role, tests it, and stores no secret', async () => {
    const [sim, sts] = [await simWith(), await startSts()];
    const { env, aws, configFile, HOME } = user(sim.url);
    aws('', `[work]\n${CREDENTIALS}`);
    const network = { AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${sts.port}` };
    const role = 'arn:aws:iam::123456789012:role/models';
    const added = await polypod(add('--region', 'us-east-1', '--profile', 'work', '--role-arn', role), {
      env: { ...env, ...network },
    });
    expect(added).toMatchObject({
      code: 0,
      stdout: `bedrock works: polypod ask -m bedrock/${MODEL} "Hello"\n`,
    });
    const text = readFileSync(configFile, 'utf8');
    expect(text).toContain(`bedrock:\n    region: us-east-1\n    profile: work\n    role_arn: ${role}\n`);
    expect(text + added.stderr).not.toContain(SECRET);
    expect(existsSync(join(HOME, '.config/polypod/keys'))).toBe(false);
    const tested = await polypod(['accounts', 'test', 'bedrock', '-m', MODEL, '--json'], {
      env: { ...env, ...network },
    });
    expect(JSON.parse(tested.stdout)).toEqual({ account: 'bedrock', model: MODEL, ok: true });
    expect(await polypod(['doctor'], { env: { ...env, ...network } })).toMatchObject({
      stdout: expect.stringContaining(
        'bedrock uses credentials of AWS: polypod accounts test bedrock checks them',
      ),
    });
  });

  it('saves nothing if AWS rejects the credentials', async () => {
    const sim = await simWith();
    const { env, aws, configFile } = user(sim.url);
    aws('', '[work]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = other-secret\n');
    expect(await polypod(add('--region', 'us-east-1', '--profile', 'work'), { env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/security token included in the request is invalid[^]*nothing was saved/),
    });
    expect(existsSync(configFile)).toBe(false);
  });

  it.each<[readonly string[], string]>([
    [['accounts', 'add', 'groq', '--region', 'us-east-1'], 'are for accounts of Amazon Bedrock'],
    [add('--region', 'nowhere'), '"nowhere" is not a region of AWS'],
    [add('--profile', 'work', '--key-env', 'KEY'), 'pass either --key-env, or --profile and --role-arn'],
  ])('refuses %j', async (args, message) => {
    const { env } = user('http://127.0.0.1:9');
    expect(await polypod(args, { env })).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});

import { chmod, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type LoadedConfig, readConfig } from '../../src/setup/index.ts';
import { listedAccounts, usableAccounts } from '../../src/llm/index.ts';
import { directoryWith } from '../daemon/directory.ts';

async function read(yaml: string, files: Readonly<Record<string, string>> = {}): Promise<LoadedConfig> {
  const directory = await directoryWith({ 'config.yaml': yaml, ...files });
  return readConfig({ configFile: join(directory, 'config.yaml'), home: directory });
}

/** The problems of the file, without the name of its directory. */
async function mistakesIn(yaml: string): Promise<string[]> {
  const directory = await directoryWith({ 'config.yaml': yaml });
  const reading = readConfig({ configFile: join(directory, 'config.yaml'), home: directory });
  const message = await reading.then(
    () => 'nothing is wrong',
    (thrown: Error & { code?: string }) => `${thrown.code}\n${thrown.message}`,
  );
  return message.replaceAll(`${directory}/`, '').split('\n');
}

async function warningsFor(yaml: string, mode: number): Promise<readonly string[]> {
  const directory = await directoryWith({ 'config.yaml': yaml });
  const configFile = join(directory, 'config.yaml');
  await chmod(configFile, mode);
  const { warnings } = await readConfig({ configFile, home: directory });
  return warnings.map((warning) => warning.replaceAll(configFile, 'config.yaml'));
}

const NOTHING = {
  backends: new Map(),
  permissions: { rules: [], allowPaths: [], privateHosts: [], passEnv: [] },
  sandbox: {},
  mcpServers: [],
  extensions: [],
  streamRules: [],
  daemon: { doors: {}, limits: {}, approvals: { fallback: 'deny' }, shutdownGraceMs: 10_000 },
  log: {},
  titles: { source: 'model' },
  notify: { bell: true, title: true, desktop: true },
};

describe('a configuration', () => {
  test('that is missing means the defaults', async () => {
    const configFile = join(await directoryWith({}), 'config.yaml');
    expect(await readConfig({ configFile, home: '/' })).toEqual({
      config: { accounts: [], ...NOTHING },
      warnings: [],
    });
  });

  test.each(['', '# nothing yet\n', 'version: 1\naccounts:\n', '---\n...\n'])(
    'that is empty (%j) has the default values',
    async (yaml) => {
      expect(await read(yaml)).toEqual({ config: { accounts: [], ...NOTHING }, warnings: [] });
    },
  );

  test('configures the sandbox', async () => {
    const { config } = await read(
      'sandbox: { enabled: true, read: [~/.m2, /srv/x], hide: [~/p/private], show: [~/p/.env], tmp_mb: 64 }\n',
    );
    expect(config.sandbox).toEqual({
      enabled: true,
      read: ['~/.m2', '/srv/x'],
      hide: ['~/p/private'],
      show: ['~/p/.env'],
      tmpBytes: 64 * 1024 ** 2,
    });
    await expect(read('sandbox: { read: [relative] }\n')).rejects.toThrow(/must be an absolute path/);
    await expect(read('sandbox: { tmp_mb: 0 }\n')).rejects.toThrow(/tmp_mb/);
    await expect(read('sandbox: { network: true }\n')).rejects.toThrow(/network/);
  });

  test('names extensions relative to its own directory or to the home directory', async () => {
    const directory = await directoryWith({ 'config.yaml': 'extensions: [a.mjs, ~/b.ts, /c]\n' });
    const { config } = await readConfig({ configFile: join(directory, 'config.yaml'), home: '/home/ada' });
    expect(config.extensions).toEqual([join(directory, 'a.mjs'), '/home/ada/b.ts', '/c']);
  });

  test('says what writes titles and how a terminal notifies', async () => {
    const { config } = await read('titles: prompt\ntitle_model: lab/tiny\nnotify: { bell: false }\n');
    expect(config.titles).toEqual({ source: 'prompt', model: 'lab/tiny' });
    expect(config.notify).toEqual({ bell: false, title: true, desktop: true });
    await expect(read('titles: sometimes\n')).rejects.toThrow('model, prompt, off');
  });

  test('is read with all its keys', async () => {
    const directory = await directoryWith({
      'key.txt': 'from-file\n',
      'config.yaml': `
version: 1
model: work/gpt-6.1-sol
accounts:
  groq: # all from the vendor
  work:
    vendor: openai
    key_env: WORK_KEY
  proxy:
    wire: openai-chat
    base_url: https://proxy.example/v1/
    key_file: key.txt
    headers: { X-Team: blue, x-trace: "1" }
    omit: [stream_options]
  tilde: { vendor: mistral, key_file: ~/key.txt }
  inline: { vendor: xai, key: "xai-1" }
`,
    });
    const configFile = join(directory, 'config.yaml');
    const key = { text: 'from-file\n', source: join(directory, 'key.txt') };
    expect(await readConfig({ configFile, home: directory })).toEqual({
      config: {
        ...NOTHING,
        model: 'work/gpt-6.1-sol',
        accounts: [
          { name: 'groq' },
          { name: 'work', vendor: 'openai', key: { env: 'WORK_KEY' } },
          {
            name: 'proxy',
            api: 'openai-chat',
            baseUrl: 'https://proxy.example/v1',
            key,
            headers: { 'X-Team': 'blue', 'x-trace': '1' },
            omit: ['stream_options'],
          },
          { name: 'tilde', vendor: 'mistral', key },
          {
            name: 'inline',
            vendor: 'xai',
            key: { text: 'xai-1', source: `accounts.inline.key in ${configFile}` },
          },
        ],
      },
      warnings: [],
    });
  });

  test('describes other agents', async () => {
    const { config } = await read(`
backend: claude
backends:
  claude: { command: [/opt/claude, --debug], trust_project: true, probe: false }
  mine: { command: [mine, acp], env: { MINE: here }, pass_env: [MINE_KEY] }
`);
    expect(config.backend).toBe('claude');
    expect([...config.backends]).toEqual([
      ['claude', { command: ['/opt/claude', '--debug'], trustProject: true, probe: false }],
      ['mine', { command: ['mine', 'acp'], env: { MINE: 'here' }, passEnv: ['MINE_KEY'] }],
    ]);
    expect((await mistakesIn('backends: { claude: { command: [] } }'))[1]).toContain(
      'backends.claude.command must name a program',
    );
  });

  test('has accounts that can be used in every example of docs/llm.md', async () => {
    const page = await readFile('docs/llm.md', 'utf8');
    const examples = [...page.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, yaml = '']) => yaml);
    const keys = { AZURE_OPENAI_API_KEY: 'any', AWS_BEARER_TOKEN_BEDROCK: 'any' };
    const listed = [];
    for (const yaml of examples) {
      const { config } = await read(yaml, { 'service-account.json': '{}' });
      listed.push(...listedAccounts(keys, config.accounts, 'config.yaml'));
    }
    expect(listed.filter(({ problem }) => problem !== undefined)).toEqual([]);
    expect(listed.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'azure',
        'vertex',
        'ci',
        'bedrock',
        'bedrock-work',
        'bedrock-team',
        'bedrock-key',
      ]),
    );
    expect(listed.find(({ name }) => name === 'bedrock-team')?.baseUrl).toBe(
      'https://bedrock-runtime.eu-central-1.amazonaws.com',
    );
  });

  test('can state where the credentials of an account at AWS come from', async () => {
    const role = 'arn:aws:iam::123456789012:role/team/models';
    const { config } = await read(
      `accounts:\n  bedrock: { region: us-gov-west-1 }\n  lab: { vendor: bedrock, profile: lab, role_arn: "${role}" }\n`,
    );
    expect(config.accounts).toEqual([
      { name: 'bedrock', aws: { region: 'us-gov-west-1' } },
      { name: 'lab', vendor: 'bedrock', aws: { profile: 'lab', roleArn: role } },
    ]);
  });

  test.each([
    ['groq: { region: us-east-1 }', 'accounts.groq has region, which belongs to the vendor bedrock'],
    [
      'bedrock: { profile: a, key_env: K }',
      'accounts.bedrock has key_env and profile: keep the key or the credentials of AWS',
    ],
    ['bedrock: { region: "evil.example/" }', 'accounts.bedrock.region must be an AWS region like us-east-1'],
    ['bedrock: { role_arn: models }', 'accounts.bedrock.role_arn must be the ARN of a role like'],
  ])('is rejected with %s', async (account, mistake) => {
    expect(await mistakesIn(`accounts:\n  ${account}\n`)).toEqual([
      'bad-request',
      expect.stringContaining(mistake),
    ]);
  });

  test('supports anchors and aliases', async () => {
    const { config } = await read('accounts:\n  groq: &a { key_env: K }\n  xai: *a\n');
    expect(config.accounts).toEqual([
      { name: 'groq', key: { env: 'K' } },
      { name: 'xai', key: { env: 'K' } },
    ]);
  });

  test('provides usable accounts', async () => {
    const { config } = await read('accounts:\n  inline: { vendor: xai, key: " xai-1 " }\n');
    expect(usableAccounts({}, config.accounts)).toEqual([
      { name: 'inline', api: 'openai-chat', baseUrl: 'https://api.x.ai/v1', apiKey: 'xai-1' },
    ]);
  });

  test('can name a missing key file: only that account is unusable', async () => {
    const { config } = await read('accounts:\n  groq: { key_file: gone }\n');
    expect(config.accounts).toEqual([
      {
        name: 'groq',
        key: {
          unavailable: expect.stringMatching(/^the file of accounts\.groq\.key_file cannot be read: ENOENT/),
        },
      },
    ]);
  });
});

describe('an invalid configuration', () => {
  test('is rejected with all problems, their locations and next steps', async () => {
    const yaml = `modle: a/b
version: 1
model: [x]
accounts:
  grok/4: { vendor: xai }
  groq:
    key_evn: GROQ_KEY
    key_env: sk-not-a-name
  work:
    vendor: openia
    wire: 5
    base_url: localhost:1234
    headers:
      "bad name": x
      fine: 1
    omit: stream_options
  other: { key_env: A, key: b, vendor: openai }
  nobody: { base_url: "https://host/v1" }
  empty:
  text: groq
`;
    expect(await mistakesIn(yaml)).toEqual([
      'bad-request',
      'config.yaml:1:1: modle is not a key: did you mean "model"?',
      'config.yaml:3:8: model must be a model, as account/id, not a list',
      'config.yaml:5:3: accounts.grok/4 must be a name of letters, digits, dots, dashes and underscores',
      'config.yaml:7:5: accounts.groq.key_evn is not a key: did you mean "key_env"?',
      'config.yaml:8:14: accounts.groq.key_env must be the name of an environment variable',
      expect.stringMatching(
        /^config\.yaml:10:13: accounts\.work\.vendor must be one of anthropic, .*, not "openia": did you mean "openai"\?$/,
      ),
      'config.yaml:11:11: accounts.work.wire must be one of anthropic, openai-chat, openai-responses, gemini, ollama, bedrock, not 5',
      'config.yaml:12:15: accounts.work.base_url must be an http or https address like https://host/v1',
      'config.yaml:14:7: accounts.work.headers.bad name must be the name of a header',
      'config.yaml:15:13: accounts.work.headers.fine must be text without line breaks, not 1',
      'config.yaml:16:11: accounts.work.omit must be a list, not text',
      'config.yaml:17:3: accounts.other has key_env and key: keep one of them',
      'config.yaml:18:3: accounts.nobody is not the name of a vendor: add vendor, or both wire and base_url',
      'config.yaml:19:3: accounts.empty is not the name of a vendor: add vendor, or both wire and base_url',
      'config.yaml:20:9: accounts.text must be a map, not text',
    ]);
  });

  test('is reported without its secrets', async () => {
    const secret = 'sk-ant-0123456789';
    const files = [
      `accounts:\n  groq: { key: [${secret}] }\n`,
      `accounts:\n  groq: { key_env: ${secret} }\n`,
      `accounts:\n  groq: { base_url: ${secret} }\n`,
      `accounts:\n  groq:\n    key: "${secret}\n  wrong\n`,
      `accounts: ${secret}\n`,
      `key: ${secret}\nkey: ${secret}\n`,
      `a: b: ${secret}\n`,
    ];
    const mistakes = await Promise.all(files.map(mistakesIn));
    expect(mistakes.filter((lines) => lines.join().includes(secret))).toEqual([]);
    expect(mistakes.map(([code]) => code)).toEqual(files.map(() => 'bad-request'));
  });

  test('with a YAML syntax error is rejected with its location', async () => {
    expect(await mistakesIn('version: 1\nmodel: a\nmodel: b\n')).toEqual([
      'bad-request',
      'config.yaml:3:1: Map keys must be unique',
    ]);
    expect(await mistakesIn('model: *nowhere\n')).toEqual([
      'bad-request',
      expect.stringContaining('config.yaml: '),
    ]);
  });

  test('is rejected if it is not a map', async () => {
    expect(await mistakesIn('- a\n- b\n')).toEqual([
      'bad-request',
      'config.yaml:1:1: the file must be a map, not a list',
    ]);
  });

  test.each(['0', 'one', '"1"', '0.5'])('is rejected for version %s', async (version) => {
    const [, mistake] = await mistakesIn(`version: ${version}\n`);
    expect(mistake).toMatch(/^config\.yaml:1:10: version must be 1, not /);
  });

  test('of a newer version is rejected without other problems', async () => {
    expect(await mistakesIn('version: 2\nnew_key: true\n')).toEqual([
      'bad-request',
      'config.yaml:1:10: version 2 is newer than this Polypod, which supports 1: update Polypod, or point POLYPOD_CONFIG to another file',
    ]);
  });

  test('is reported if it cannot be read', async () => {
    const directory = await directoryWith({});
    await mkdir(join(directory, 'config.yaml'));
    await expect(readConfig({ configFile: join(directory, 'config.yaml'), home: '/' })).rejects.toThrow(
      /^cannot read the configuration: EISDIR/,
    );
  });
});

describe('the daemon settings', () => {
  test('is read with all its keys', async () => {
    const { config } = await read(`
doors: { pod: false }
limits: { pods: 10, runs: 2, queue: 3, watcher: 400 }
hibernate_after: 90s
durability: relaxed
approvals: { deadline: 1.5h, fallback: pause }
shutdown_grace: 30
log: { level: debug }
audit: { file_mb: 1, file_days: 2, keep_files: 3 }
`);
    expect(config.daemon).toEqual({
      doors: { pod: false },
      limits: { pods: 10, runs: 2, queue: 3, watcher: 400 },
      hibernateAfterMs: 90_000,
      durability: 'relaxed',
      approvals: { deadlineMs: 5_400_000, fallback: 'pause' },
      shutdownGraceMs: 30_000,
      audit: { fileBytes: 1_048_576, fileAgeMs: 172_800_000, keptFiles: 3 },
    });
    expect(config.log).toEqual({ level: 'debug' });
  });

  test.each([
    ['250ms', 250],
    ['2 m', 120_000],
    ['1d', 86_400_000],
    ['0', 0],
  ])('a duration can be written as %s', async (text, ms) => {
    expect((await read(`shutdown_grace: ${text}\n`)).config.daemon.shutdownGraceMs).toBe(ms);
  });

  test.each(['soon', '-1', '5 weeks', '30d', '[1]', '1h30m'])(
    'a time may not be written as %s',
    async (text) => {
      const [, mistake] = await mistakesIn(`shutdown_grace: ${text}\n`);
      expect(mistake).toMatch(
        /^config\.yaml:1:17: shutdown_grace must be a time of at most 24 days, such as 90s/,
      );
    },
  );

  test.each([
    ['doors: { telnet: true }', '1:10: doors.telnet is not a key: there are pod'],
    ['doors: { pod: 1 }', '1:15: doors.pod must be true or false, not 1'],
    ['limits: { runs: 1.5 }', '1:17: limits.runs must be a whole number from 1 on'],
    ['approvals: { fallback: allow }', '1:24: approvals.fallback must be one of deny, pause, not "allow"'],
  ])('%s is rejected with its location', async (yaml, mistake) => {
    expect((await mistakesIn(yaml))[1]).toContain(`config.yaml:${mistake}`);
  });
});

describe('a configuration that other users can read', () => {
  const warning = 'config.yaml holds a key and others on this machine may read it: chmod 600 config.yaml';

  test.each([
    ['accounts: { groq: { key: secret } }', 0o644, [warning]],
    ['accounts: { groq: { key: secret } }', 0o640, [warning]],
    ['accounts: { groq: { headers: { Authorization: Bearer x } } }', 0o644, [warning]],
    ['accounts: { groq: { key: secret } }', 0o600, []],
    ['accounts: { groq: { key_env: SECRET, headers: { x-team: blue } } }', 0o644, []],
  ])('causes a warning only if it contains a secret: %s with mode %o', async (yaml, mode, warnings) => {
    expect(await warningsFor(yaml, mode)).toEqual(warnings);
  });
});

import { PolypodError, systemCodeOf } from '../../../base/index.ts';
import { listedAccounts, PROVIDER_APIS, VENDORS } from '../../../llm/index.ts';
import { dataPathsFrom, loadAccountFiles, readConfig, tryAccount } from '../../../setup/index.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import { EXIT, type ExitCode, runnable, type CommandContext } from '../../command.ts';
import { table } from '../../output/table.ts';
import { add } from './add.ts';
import { reportTrial } from './report-trial.ts';

/** `polypod accounts`: sets up the accounts of providers. */
export const accounts = runnable({
  name: 'accounts',
  summary: 'List, add, test and remove accounts of providers.',
  usage: 'list|add [NAME]|test NAME|remove NAME [OPTIONS]',
  options: {
    vendor: {
      type: 'choice',
      choices: VENDORS.map(({ name }) => name),
      value: 'VENDOR',
      help: 'add: the vendor, if it is not the name of the account',
    },
    wire: { type: 'choice', choices: PROVIDER_APIS, help: 'add: the provider API of another server' },
    'base-url': { type: 'text', value: 'URL', help: 'add: the address, such as https://host/v1' },
    'key-env': { type: 'text', value: 'NAME', help: 'add: the key stays in this environment variable' },
    project: { type: 'text', value: 'ID', help: 'add: the Google Cloud project, for vertex' },
    location: {
      type: 'text',
      value: 'NAME',
      help: 'add: the Google Cloud location, for vertex; default global',
    },
    region: { type: 'text', value: 'REGION', help: 'add: the AWS region of a Bedrock account' },
    profile: { type: 'text', value: 'NAME', help: 'add: the AWS profile with its credentials' },
    'role-arn': { type: 'text', value: 'ARN', help: 'add: the AWS role to assume' },
    model: { type: 'text', short: 'm', value: 'ID', help: 'add, test: the model to test with' },
    'no-test': { type: 'flag', help: 'add: save the account without a test' },
    json: { type: 'flag', help: 'print JSON' },
  },
  words: ['list', 'add', 'test', 'remove'],
  details: `
add asks for what is missing, sends one short request, and saves the account in config.yaml if the model answers. In a
pipe it asks nothing and reads the key from stdin. The key is stored in the system keyring (secret-tool on Linux,
security on macOS) or, without one, in the file keys/NAME beside config.yaml, which only you can read. vertex needs no
key: it uses the credentials of gcloud auth application-default login or GOOGLE_APPLICATION_CREDENTIALS.

With --profile or --role-arn, an account of Amazon Bedrock uses credentials of AWS and no key; with --region alone, an empty
key means those of the environment.

test sends one short request, which costs a fraction of a cent. list shows configured accounts and vendors with a key
in the environment. remove deletes the account and its stored key. A running daemon applies changes within
a few seconds.

Exit codes: 0 done, 2 usage error, or the provider rejects key or model, 3 the provider cannot be reached,
130 cancelled.

Examples:
  polypod accounts add anthropic
  polypod accounts add work --vendor openai --base-url https://gateway.example.com/v1 < key.txt
  polypod accounts add vertex --project my-project --location europe-west4
  polypod accounts add bedrock --region us-east-1 --profile work -m us.anthropic.claude-sonnet-5-5
  polypod accounts test work --model gpt-6.1-sol
  polypod accounts remove work`,
  async run({ values, positionals: [action, name, ...rest] }, context) {
    if (rest.length > 0) throw new PolypodError('bad-request', `polypod accounts ${action} takes one name`);
    if (action === 'list' && name === undefined) return list(values.json, context);
    if (action === 'add') return unlessCancelled(context, () => add(name, values, context));
    if (action === 'test' && name !== undefined)
      return unlessCancelled(context, () => test(name, values, context));
    if (action === 'remove' && name !== undefined) return remove(name, values.json, context);
    if (action === 'list') throw new PolypodError('bad-request', 'polypod accounts list takes no name');
    throw new PolypodError(
      'bad-request',
      action === 'test' || action === 'remove'
        ? `${action} needs the name of an account: polypod accounts list shows the names`
        : 'the action must be list, add, test or remove: polypod accounts list',
    );
  },
});

/** Ends the command after Ctrl-C, or Ctrl-D at a question. */
async function unlessCancelled(
  { signal, stderr }: CommandContext,
  action: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await action();
  } catch (thrown) {
    if (!signal.aborted && systemCodeOf(thrown) !== 'ABORT_ERR') throw thrown;
    stderr.write('polypod accounts: cancelled; nothing was saved\n');
    return EXIT.interrupted;
  }
}

async function list(json: boolean, { env, stdout, stderr }: CommandContext): Promise<ExitCode> {
  const { configFile, ...dataPaths } = dataPathsFrom(env);
  const { config } = await readConfig({ configFile, ...dataPaths });
  const all = listedAccounts(env, config.accounts, configFile);
  if (json) stdout.write(`${JSON.stringify(all, null, 2)}\n`);
  else if (all.length === 0) stderr.write('there are no accounts: polypod accounts add creates one\n');
  else {
    const cells = all.map(({ name, api = '', baseUrl = '', problem = 'ready' }) => [
      name,
      api,
      baseUrl,
      problem,
    ]);
    stdout.write(table([['account', 'API', 'address', 'state'], ...cells], { columns: stdout.columns }));
  }
  return EXIT.ok;
}

async function test(
  name: string,
  { model, json }: { readonly model: string | undefined; readonly json: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { env, signal } = context;
  const dataPaths = dataPathsFrom(env);
  const { config } = await readConfig(dataPaths);
  const trial = await tryAccount({ name, model, env, configured: config.accounts, dataPaths, signal });
  return reportTrial(trial, json, context);
}

async function remove(
  name: string,
  json: boolean,
  { env, stdout, stderr }: CommandContext,
): Promise<ExitCode> {
  const { configFile, ...dataPaths } = dataPathsFrom(env);
  // An invalid file is reported, not changed.
  const { config } = await readConfig({ configFile, ...dataPaths });
  const { deleteAccount, removeKey } = await loadAccountFiles();
  const settings = await deleteAccount(configFile, name);
  if (settings === undefined) {
    const names = config.accounts.map((account) => account.name).join(', ');
    throw new PolypodError(
      'not-found',
      `there is no account "${name}" in ${configFile}: ${names === '' ? 'it has none' : `there are ${names}`}`,
    );
  }
  await removeKey(name, settings, { configFile, env });
  if (json) stdout.write(`${JSON.stringify({ removed: name })}\n`);
  else stderr.write(`polypod accounts: removed ${sanitizeLine(name)}\n`);
  return EXIT.ok;
}

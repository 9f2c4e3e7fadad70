import { PolypodError, withoutUndefined } from '../../../base/index.ts';
import {
  type AwsAccountSettings,
  type ConfiguredAccount,
  findVendor,
  GOOGLE_LOCATION,
  GOOGLE_PROJECT,
  httpUrl,
  isAwsRegion,
  type ProviderApi,
  VENDORS,
} from '../../../llm/index.ts';
import { dataPathsFrom, loadAccountFiles, readConfig, tryAccount } from '../../../setup/index.ts';
import { sanitizeLine } from '../../../terminal/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { askLine, askSecret, readPipedKey } from './questions.ts';
import { reportTrial } from './report-trial.ts';

export interface AddValues {
  readonly vendor: string | undefined;
  readonly wire: ProviderApi | undefined;
  readonly 'base-url': string | undefined;
  readonly 'key-env': string | undefined;
  readonly project: string | undefined;
  readonly location: string | undefined;
  readonly region: string | undefined;
  readonly profile: string | undefined;
  readonly 'role-arn': string | undefined;
  readonly model: string | undefined;
  readonly 'no-test': boolean;
  readonly json: boolean;
}

/** `polypod accounts add`: collects the settings, tests the account, and saves it if it works. */
export async function add(
  stated: string | undefined,
  values: AddValues,
  context: CommandContext,
): Promise<ExitCode> {
  const { env, signal, stdin } = context;
  const dataPaths = dataPathsFrom(env);
  const { config } = await readConfig(dataPaths);
  const isInteractive = stdin.isTTY === true;
  const name = checkedName(stated ?? values.vendor ?? (isInteractive ? await askVendor(context) : undefined));
  if (config.accounts.some((account) => account.name === name))
    throw new PolypodError(
      'conflict',
      `there is an account "${name}" already: remove it with polypod accounts remove ${name}, or use another name`,
    );
  const vendor = findVendor(values.vendor ?? name);
  if (vendor === undefined && (values.wire === undefined || values['base-url'] === undefined))
    throw new PolypodError(
      'bad-request',
      `"${name}" is not the name of a vendor: pass --vendor, or both --wire and --base-url`,
    );
  const address =
    values['base-url'] ??
    (vendor?.hasOwnAddress === true && isInteractive
      ? await askLine(`Address, such as ${vendor.baseUrl}`, '', context)
      : undefined);
  const baseUrl = address === undefined ? undefined : httpUrl(address);
  if (address !== undefined && baseUrl === undefined)
    throw new PolypodError('bad-request', `"${address}" is not an address: write it like https://host/v1`);
  const cloudProject =
    vendor?.googleCloud === true && baseUrl === undefined
      ? await askProject(values, isInteractive, context)
      : statedProject(values);
  const aws = await awsSettings(vendor?.isAws === true || values.wire === 'bedrock', values, context);
  const hasCredentials = aws?.profile !== undefined || aws?.roleArn !== undefined;
  if (hasCredentials && values['key-env'] !== undefined)
    throw new PolypodError('bad-request', 'pass either --key-env, or --profile and --role-arn');
  // Google Cloud has credentials of its own.
  const needsKey = values['key-env'] === undefined && !hasCredentials && vendor?.googleCloud !== true;
  const hint = aws === undefined ? '' : ', empty for credentials of AWS';
  const key = needsKey ? await readKey(name, hint, isInteractive, context) : undefined;
  const model =
    values.model ??
    (vendor?.defaultModel === undefined && isInteractive && !values['no-test']
      ? (await askLine('Model to test with', '', context)) || undefined
      : undefined);

  const draft: ConfiguredAccount = {
    name,
    ...withoutUndefined({ vendor: values.vendor, api: values.wire, baseUrl, aws }),
    ...cloudProject,
    ...(values['key-env'] !== undefined && { key: { env: values['key-env'] } }),
    ...(key !== undefined && key !== '' && { key: { text: key, source: 'the key that you entered' } }),
  };
  const configured = [...config.accounts, draft];
  const trial = values['no-test']
    ? undefined
    : await tryAccount({ name, model, env, configured, dataPaths, signal });
  if (trial?.failure !== undefined) {
    const code = reportTrial(trial, values.json, context);
    context.stderr.write('polypod accounts: nothing was saved; --no-test saves an account without a test\n');
    return code;
  }
  const { configFile } = dataPaths;
  const { storeKey, writeAccount } = await loadAccountFiles();
  const stored = key === undefined || key === '' ? {} : await storeKey(name, key, { configFile, env });
  await writeAccount(configFile, name, {
    ...withoutUndefined({
      vendor: values.vendor,
      wire: values.wire,
      base_url: baseUrl,
      key_env: values['key-env'],
      region: aws?.region,
      profile: aws?.profile,
      role_arn: aws?.roleArn,
    }),
    ...cloudProject,
    ...stored,
  });
  const storage = 'key_keyring' in stored ? 'in the system keyring' : 'key_file' in stored ? 'in a file' : '';
  context.stderr.write(
    `polypod accounts: saved ${sanitizeLine(name)} in ${configFile}${storage === '' ? '' : `, its key ${storage}`}\n`,
  );
  return trial === undefined ? EXIT.ok : reportTrial(trial, values.json, context);
}

type ProjectSettings = Pick<ConfiguredAccount, 'project' | 'location'>;

/** Asks for the project and the location that the options do not name. */
async function askProject(
  values: AddValues,
  isInteractive: boolean,
  context: CommandContext,
): Promise<ProjectSettings> {
  const stated = statedProject(values);
  if (!isInteractive) return stated;
  const { GOOGLE_CLOUD_PROJECT = '', GOOGLE_CLOUD_LOCATION = 'global' } = context.env;
  const project = stated.project ?? (await askLine('Google Cloud project', GOOGLE_CLOUD_PROJECT, context));
  const location = stated.location ?? (await askLine('Location', GOOGLE_CLOUD_LOCATION, context));
  return { ...(project !== '' && { project }), location };
}

function statedProject({ project, location }: AddValues): ProjectSettings {
  if (project !== undefined && !GOOGLE_PROJECT.test(project))
    throw new PolypodError(
      'bad-request',
      `"${project}" is not the id of a Google Cloud project: write it like my-project-123`,
    );
  if (location !== undefined && !GOOGLE_LOCATION.test(location))
    throw new PolypodError('bad-request', `"${location}" is not a location: write it like europe-west4`);
  return withoutUndefined({ project, location });
}

/** The settings of an account at AWS; undefined for accounts of others. */
async function awsSettings(
  isAws: boolean,
  { region: statedRegion, profile, 'role-arn': roleArn }: AddValues,
  context: CommandContext,
): Promise<AwsAccountSettings | undefined> {
  if (!isAws) {
    if (statedRegion === undefined && profile === undefined && roleArn === undefined) return undefined;
    throw new PolypodError(
      'bad-request',
      '--region, --profile and --role-arn are for accounts of Amazon Bedrock: pass --vendor bedrock',
    );
  }
  const { AWS_REGION: known = context.env.AWS_DEFAULT_REGION ?? '' } = context.env;
  const region =
    statedRegion ??
    ((context.stdin.isTTY === true
      ? await askLine(
          profile === undefined ? 'Region' : 'Region, empty for that of the profile',
          known,
          context,
        )
      : '') ||
      undefined);
  if (region !== undefined && !isAwsRegion(region))
    throw new PolypodError('bad-request', `"${region}" is not a region of AWS: write it like us-east-1`);
  return withoutUndefined({ region, profile, roleArn });
}

async function askVendor(context: CommandContext): Promise<string> {
  context.stderr.write(`Vendors: ${VENDORS.map(({ name }) => name).join(', ')}\n`);
  return askLine('Vendor', VENDORS[0]?.name ?? '', context);
}

function checkedName(name: string | undefined): string {
  if (name === undefined)
    throw new PolypodError('bad-request', 'the name is missing: polypod accounts add anthropic');
  if (/^[A-Za-z0-9][\w.-]*$/.test(name)) return name;
  throw new PolypodError(
    'bad-request',
    'the name of an account has letters, digits, dots, dashes and underscores',
  );
}

async function readKey(
  name: string,
  hint: string,
  isInteractive: boolean,
  context: CommandContext,
): Promise<string> {
  const key = isInteractive ? await askSecret(`Key of ${name}${hint}`, context) : await readPipedKey(context);
  if (/^[\x21-\x7e]*$/.test(key)) return key;
  throw new PolypodError('bad-request', 'a key is one word on one line: copy it again');
}

import { type Account as FullAccount, type Failure, type FailureKind, findVendor } from '../../llm/index.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { sanitizeLine } from '../../terminal/index.ts';

/** The fields of an account that may be shown. */
type Account = Pick<FullAccount, 'name' | 'api' | 'baseUrl'>;

/** Explains a failure and what to do about it, in one line. */
export function explainFailure(failure: Failure, account: Account, model: string): string {
  // The provider's text is untrusted.
  const message = sanitizeLine(failure.message.replace(/[\s.]+$/, ''));
  return `${account.name}: ${message}; ${NEXT[failure.kind](account, model)}`;
}

/** A key or model that the provider rejects is a configuration error; a conversation that is too long is not completed. */
export function failureExitCode({ kind }: Failure): ExitCode {
  if (kind === 'auth' || kind === 'unknown-model') return EXIT.usage;
  return kind === 'context-too-long' ? EXIT.incomplete : EXIT.broken;
}

const NEXT: Readonly<Record<FailureKind, (account: Account, model: string) => string>> = {
  auth: (account) =>
    account.api === 'bedrock'
      ? `check the credentials of AWS, or the key: ${keyLocation(account)}`
      : `check the key: ${keyLocation(account)}`,
  quota: (account) =>
    `the account is out of credit: top it up at ${account.name}, or use another with --model`,
  'rate-limit': () => 'wait and try again, or use another model with --model',
  overloaded: () => 'wait and try again, or use another model with --model',
  server: () => 'try again later',
  'unknown-model': (account, model) =>
    `check the model's name (${model}): polypod models --account ${account.name} lists the known ones`,
  'invalid-request': () => 'check the options you gave',
  'context-too-long': () => 'shorten the prompt, or use a model with a larger context with --model',
  network: (account) => `check that ${account.baseUrl} is right and that the server is running`,
  timeout: () => 'try again, or check the connection',
  'cut-off': () => 'the answer is incomplete: try again',
  malformed: (account) => `check that ${account.baseUrl} speaks ${account.api}`,
  provider: () => 'try again later',
};

function keyLocation({ name }: Account): string {
  const variables = findVendor(name)?.keyEnv ?? [];
  const configured = `accounts.${name} in config.yaml`;
  // The built-in model has no account, unless the user configured one with this name.
  if (name === 'sim')
    return `the built-in simulated model takes none, so it comes from ${configured}, or use another model with --model`;
  return variables.length === 0
    ? `it comes from ${configured}`
    : `it comes from ${variables.join(' or ')}, or ${configured}`;
}

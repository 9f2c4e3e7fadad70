import { redactor } from './redact.ts';

/** Environment variables by name. */
export type Env = Readonly<Record<string, string>>;

/** Which of the user's environment variables are passed to commands and servers that a model starts. */
export interface EnvRule {
  /** Variables that the configuration names as holding a key, whatever their names. */
  readonly secret: readonly string[];
  /** Variables that the user passes explicitly; overrides every other rule. */
  readonly pass: readonly string[];
}

/** The environment without Polypod's and providers' keys, for commands and servers that a model starts. */
export function safeEnv(env: Readonly<Record<string, string | undefined>>, { secret, pass }: EnvRule): Env {
  const safe = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      (pass.includes(entry[0]) || !(secret.includes(entry[0]) || isSecretVariable(entry[0], entry[1]))),
  );
  return Object.fromEntries(safe);
}

/** Whether the name of a variable suggests that it holds a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Whether a variable holds a secret, by its name or by the format of its value. */
export function isSecretVariable(name: string, value: string): boolean {
  return isSecretName(name) || containsKey(value);
}

const SECRET_NAME =
  /^POLYPOD_|SECRET|API_?KEY|BEARER_TOKEN|(?:^|_)KEY$|(?:TOKEN|PASSWORD|PASSWD|PASSPHRASE)$/i;

/** Finds well-known API keys in variables with inconspicuous names. */
function containsKey(value: string): boolean {
  return redactKeys(value) !== value;
}

const redactKeys = redactor([]);

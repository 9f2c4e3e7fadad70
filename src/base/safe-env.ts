import { redactor } from './redact.ts';

/** Environment variables by name. */
export type Env = Readonly<Record<string, string>>;

/** What of the user's environment a program may see that runs at a model's wish. */
export interface EnvRule {
  /** Variables that the configuration names as the place of a key, whatever they are called. */
  readonly secret: readonly string[];
  /** Variables that the user hands on by name; this wins over every other rule. */
  readonly pass: readonly string[];
}

/** The environment without keys of ours and of providers, for commands and servers that a model sets going. */
export function safeEnv(env: Readonly<Record<string, string | undefined>>, { secret, pass }: EnvRule): Env {
  const safe = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      (pass.includes(entry[0]) || !(secret.includes(entry[0]) || isSecretVariable(entry[0], entry[1]))),
  );
  return Object.fromEntries(safe);
}

/** Whether a variable of this name holds a secret, as far as a name can tell. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Whether a variable holds a secret, by its name or by the shape of its value. */
export function isSecretVariable(name: string, value: string): boolean {
  return isSecretName(name) || holdsKey(value);
}

const SECRET_NAME = /^POLYPOD_|SECRET|API_?KEY|(?:^|_)KEY$|(?:TOKEN|PASSWORD|PASSWD|PASSPHRASE)$/i;

/** A second net, for well-known keys under names that do not tell. */
function holdsKey(value: string): boolean {
  return withoutKeys(value) !== value;
}

const withoutKeys = redactor([]);

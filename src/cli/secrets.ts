/** The values of all variables that are named like secrets: no cassette may contain them. */
export function secretsIn(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => (SECRET_NAME.test(name) && value ? [value] : []));
}

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i;

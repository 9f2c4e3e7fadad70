import { spawn } from 'node:child_process';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import type { Environment } from '../../llm/index.ts';

/** The command that prints the key of an account from the system keyring. */
export function keyringLookup(
  account: string,
  platform: NodeJS.Platform = process.platform,
): readonly string[] {
  return platform === 'darwin'
    ? ['security', 'find-generic-password', '-s', 'polypod', '-a', account, '-w']
    : ['secret-tool', 'lookup', 'service', 'polypod', 'account', account];
}

/** The settings of an account that say where its key is. */
export type StoredKey = { readonly key_keyring: true } | { readonly key_file: string };

/** Stores a key in the system keyring if there is one, else in a file that only its owner can read. */
export async function storeKey(
  account: string,
  key: string,
  { configFile, env }: { readonly configFile: string; readonly env: Environment },
): Promise<StoredKey> {
  if (await storeInKeyring(account, key, env)) return { key_keyring: true };
  const file = keyFile(configFile, account);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, `${key}\n`, { mode: 0o600 });
  // An existing file keeps its mode.
  await chmod(file, 0o600);
  return { key_file: join('keys', account) };
}

/** Removes a key that `storeKey` has stored. */
export async function removeKey(
  account: string,
  stored: Partial<Readonly<Record<'key_keyring' | 'key_file', unknown>>>,
  { configFile, env }: { readonly configFile: string; readonly env: Environment },
): Promise<void> {
  if (stored.key_keyring === true) await clearKeyring(account, env);
  // Other files belong to the user.
  if (stored.key_file === join('keys', account)) await rm(keyFile(configFile, account), { force: true });
}

function keyFile(configFile: string, account: string): string {
  return join(dirname(configFile), 'keys', account);
}

/** Returns whether the keyring returns the key afterwards: its program can be present without a running keyring. */
async function storeInKeyring(account: string, key: string, env: Environment): Promise<boolean> {
  const isMac = process.platform === 'darwin';
  // The key is written to stdin, because every user of the machine can read arguments.
  const [command, input] = isMac
    ? [
        ['security', '-i'],
        `add-generic-password -U -s polypod -a ${account} -w "${key.replaceAll(/["\\]/g, '\\$&')}"\n`,
      ]
    : [
        ['secret-tool', 'store', `--label=Polypod: ${account}`, 'service', 'polypod', 'account', account],
        key,
      ];
  if ((await run(command, input, env)) === undefined) return false;
  return (await run(keyringLookup(account), '', env))?.trim() === key;
}

async function clearKeyring(account: string, env: Environment): Promise<void> {
  const command =
    process.platform === 'darwin'
      ? ['security', 'delete-generic-password', '-s', 'polypod', '-a', account]
      : ['secret-tool', 'clear', 'service', 'polypod', 'account', account];
  if ((await run(command, '', env)) !== undefined) return;
  throw new PolypodError(
    'denied',
    `the key of ${account} is still in the system keyring: unlock it and run ${command.join(' ')}`,
  );
}

/** A locked keyring may ask the user in a window. */
const TIMEOUT_MS = 60_000;

/** The output of a command that succeeds; undefined if it fails or does not exist. */
function run(
  [program = '', ...args]: readonly string[],
  input: string,
  env: Environment,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
    let output = '';
    const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
    child.on('error', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve(code === 0 ? output : undefined);
    });
  });
}

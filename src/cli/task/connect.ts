import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, PolypodError } from '../../base/index.ts';
import { TasksClient } from '../../client/index.ts';
import { placesFrom } from '../../daemon/index.ts';
import { transportTrusting } from '../../wire/index.ts';
import type { Surroundings } from '../command.ts';
import type { TaskValues } from './options.ts';

const HERE = 'http://127.0.0.1:8000';

type Stated = Pick<TaskValues, 'url' | 'key-file' | 'ca' | 'insecure'>;

/** A client of the agent that the options and the environment name. */
export async function clientFor(values: Stated, around: Surroundings): Promise<TasksClient> {
  const { env, signal } = around;
  const url = addressIn(values.url ?? (env.POLYPOD_URL || HERE));
  const key = await keyFor(url, values, around);
  if (key !== undefined && url.protocol === 'http:' && !isLoopback(url) && !values.insecure)
    throw new PolypodError(
      'bad-request',
      `${url.origin} is another machine, and on the way everybody could read the key: use https://, or say --insecure`,
    );
  const ca = values.ca ?? (env.POLYPOD_CA || undefined);
  return new TasksClient({
    url: `${url.origin}${url.pathname}`,
    signal,
    ...(key !== undefined && { key }),
    ...(ca !== undefined && { transport: transportTrusting(await certificateIn(ca)) }),
  });
}

/** Where `polypod agent start` leaves a key for this user's own commands. */
export function ownKeyFile(dataDirectory: string): string {
  return join(dataDirectory, 'tasks', 'client.key');
}

function addressIn(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new PolypodError('bad-request', `--url "${text}" is no address: write it like ${HERE}`);
  if (url.username !== '' || url.password !== '' || url.search !== '')
    throw new PolypodError(
      'bad-request',
      'no key belongs in --url, where others see it: put it into POLYPOD_API_KEY or a file (--key-file)',
    );
  return url;
}

async function keyFor(url: URL, values: Stated, { env }: Surroundings): Promise<string | undefined> {
  const named = values['key-file'];
  if (named !== undefined) return keyIn(named);
  if (env.POLYPOD_API_KEY) return checked(env.POLYPOD_API_KEY, 'POLYPOD_API_KEY');
  if (env.POLYPOD_API_KEY_FILE) return keyIn(env.POLYPOD_API_KEY_FILE);
  // The key of this machine's own agent is nobody else's business.
  if (!isLoopback(url)) return undefined;
  const own = ownKeyFile(placesFrom(env).dataDirectory);
  const text = await readFile(own, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : checked(text, own);
}

async function keyIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot read the key: ${messageOf(thrown)}`, { cause: thrown });
  });
  return checked(text, file);
}

/** What is no key is refused here: a header with a line end in it is refused by nobody in a way that helps. */
function checked(text: string, where: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new PolypodError('bad-request', `there is no key in ${where}: it must be one word on one line`);
}

async function certificateIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot read the certificate: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  });
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new PolypodError('bad-request', `${file} has no certificate: --ca takes a PEM file`);
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

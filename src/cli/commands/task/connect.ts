import { readFile } from 'node:fs/promises';
import { messageOf, PolypodError } from '../../../base/index.ts';
import { agentKnowsKey, provingTransport, TasksClient } from '../../../client/index.ts';
import { type AgentRecord, DEFAULT_AGENT, readAgents, readClientKey } from '../../../daemon/index.ts';
import type { DataPaths } from '../../../setup/index.ts';
import { createHttpTransport, proxiesFrom, type TlsTrust } from '../../../wire/index.ts';
import type { CommandContext } from '../../command.ts';
import { dataPathsOf } from '../../args/data-dir.ts';
import type { TaskValues } from './options.ts';

type ConnectionValues = Pick<
  TaskValues,
  'url' | 'agent' | 'key-file' | 'ca' | 'cert' | 'key' | 'insecure' | 'data-dir'
>;

/**
 * Creates a client for the agent that the options and the environment name. The key is sent only to an address that the user gave
 * with it, to a pinned certificate, or to an agent that has proved that it knows the key.
 */
export async function clientFor(values: ConnectionValues, context: CommandContext): Promise<TasksClient> {
  const { env, signal } = context;
  const dataPaths = dataPathsOf(values, context);
  const stated = values.url ?? (values.agent === undefined ? env.POLYPOD_URL || undefined : undefined);
  const own = stated === undefined ? agentHere(dataPaths, values.agent) : undefined;
  const url = addressIn(stated ?? own?.url ?? '');
  const named = await namedKey(values, env);
  if (named !== undefined && url.protocol === 'http:' && !isLoopback(url) && !values.insecure)
    throw new PolypodError(
      'bad-request',
      `${url.origin} is another machine, and the network could read the key: use https://, or pass --insecure`,
    );
  const trusted = await trustFor(values.ca ?? (env.POLYPOD_CA || undefined), own);
  const identity = await identityFrom(values, env);
  const trust = identity === undefined ? trusted : { ...trusted, identity };
  const transport = createHttpTransport(trust, proxiesFrom(env));
  const client = { url: `${url.origin}${url.pathname}`, signal, transport };
  // The key of this user's own agents, which no other program may receive.
  const key = named ?? (isLoopback(url) && own?.process !== 'program' ? readClientKey(dataPaths) : undefined);
  if (key === undefined || own?.noAuth === true) return new TasksClient(client);
  const isTrusted =
    own === undefined ? named !== undefined : own.cert !== undefined || own.process === 'program';
  if (isTrusted) return new TasksClient({ ...client, key });
  const proving = { ...client, key, transport: provingTransport(key, transport) };
  if (own !== undefined) return new TasksClient(proving);
  // The user gave an address without a key: one of our agents receives the key, any other program none.
  const isOurs = await agentKnowsKey(url, key, transport, { signal, onOpen: () => {} }).catch(() => true);
  return new TasksClient(isOurs ? proving : client);
}

/** Finds an agent on this machine that `polypod agent start` started: by name, the default one, or the only one. */
function agentHere(dataPaths: DataPaths, name: string | undefined): AgentRecord {
  if (name === undefined) {
    const all = readAgents(dataPaths);
    const usual =
      all.find((agent) => agent.name === DEFAULT_AGENT) ?? (all.length === 1 ? all[0] : undefined);
    if (usual !== undefined) return usual;
    throw new PolypodError(
      'not-found',
      all.length === 0
        ? 'no agent is up here: start one with polypod agent start, or name another with --url'
        : `several agents are up here: name one with --agent ${all.map((agent) => agent.name).join('|')}`,
    );
  }
  const agent = readAgents(dataPaths).find((one) => one.name === name);
  if (agent !== undefined) return agent;
  throw new PolypodError(
    'not-found',
    `there is no agent "${name}" here: polypod agent list lists the agents, polypod agent start ${name} starts this one`,
  );
}

/** The certificate of a local agent may name another host than its local address, so this exact certificate is required. */
async function trustFor(ca: string | undefined, own: AgentRecord | undefined): Promise<TlsTrust | undefined> {
  if (ca !== undefined) return { ca: await certificateIn(ca) };
  return own?.cert === undefined ? undefined : { ca: await certificateIn(own.cert), isPinned: true };
}

/** The certificate for an agent that requires one from its clients. */
async function identityFrom(
  values: ConnectionValues,
  env: CommandContext['env'],
): Promise<TlsTrust['identity']> {
  const cert = values.cert ?? (env.POLYPOD_CERT || undefined);
  const key = values.key ?? (env.POLYPOD_CERT_KEY || undefined);
  if (key?.startsWith('ppk_'))
    throw new PolypodError(
      'bad-request',
      '--key is the file of the private key of --cert: put an API key into a file (--key-file) or into POLYPOD_API_KEY',
    );
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new PolypodError(
      'bad-request',
      'a certificate and its key belong together: give both --cert and --key',
    );
  return { cert: await certificateIn(cert, '--cert'), key: await pemIn(key, '--key', 'PRIVATE KEY') };
}

function addressIn(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new PolypodError(
      'bad-request',
      `--url "${text}" is not an address: write it like http://127.0.0.1:8000`,
    );
  if (url.username !== '' || url.password !== '' || url.search !== '')
    throw new PolypodError(
      'bad-request',
      '--url must not contain a key, because others can see it: put it into POLYPOD_API_KEY or a file (--key-file)',
    );
  return url;
}

/** The key from an option or the environment. */
async function namedKey(values: ConnectionValues, env: CommandContext['env']): Promise<string | undefined> {
  const named = values['key-file'];
  if (named !== undefined) return keyIn(named);
  if (env.POLYPOD_API_KEY) return checked(env.POLYPOD_API_KEY, 'POLYPOD_API_KEY');
  return env.POLYPOD_API_KEY_FILE ? keyIn(env.POLYPOD_API_KEY_FILE) : undefined;
}

async function keyIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new PolypodError(
      'not-found',
      `cannot read the key: ${messageOf(thrown)}; check the path after --key-file, or in POLYPOD_API_KEY_FILE`,
      { cause: thrown },
    );
  });
  return checked(text, file);
}

/** Rejects invalid keys here: the error for a header with a line break would not help the user. */
function checked(text: string, where: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new PolypodError('bad-request', `there is no key in ${where}: it must be one word on one line`);
}

async function certificateIn(file: string, option = '--ca'): Promise<string> {
  return pemIn(file, option, 'CERTIFICATE');
}

async function pemIn(file: string, option: string, label: string): Promise<string> {
  const what = label.toLowerCase();
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new PolypodError('not-found', `cannot read the ${what}: ${messageOf(thrown)}`, { cause: thrown });
  });
  if (text.includes('-----BEGIN ') && text.includes(`${label}-----`)) return text;
  throw new PolypodError('bad-request', `${file} has no ${what}: ${option} takes a PEM file`);
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** Access tokens of Google Cloud from application default credentials. */
import { httpTransport, transportFrom } from '../../wire/index.ts';
import type { KeySupply } from '../account.ts';
import { createKeyCache, type ExpiringKey } from '../expiring-key.ts';
import { type Credentials, findCredentials, parseCredentials, type Variables } from './credentials.ts';
import { requestToken } from './request-token.ts';

export interface GoogleAuthOptions {
  readonly env: Variables;
  /** The content of a credentials file, and how errors name it. Absent: the application default credentials. */
  readonly stated?: { readonly text: string; readonly source: string };
}

/** Supplies access tokens. Credentials are read again for every token, so a new login needs no restart. */
export function googleKeySupply({ env, stated }: GoogleAuthOptions): KeySupply {
  const tokens = createKeyCache<undefined>(async (_, signal): Promise<ExpiringKey> => {
    const credentials: Credentials =
      stated === undefined ? await findCredentials(env) : parseCredentials(stated.text, stated.source);
    // The metadata server is a part of the machine: a proxy cannot reach it.
    const transport = credentials.type === 'metadata' ? httpTransport : transportFrom(env);
    return requestToken(credentials, { transport, signal });
  });
  return {
    isToken: true,
    key: (signal) => tokens.key(undefined, signal),
    renew: (rejected, signal) => tokens.renew(rejected, undefined, signal),
  };
}

/** Describes the application default credentials without using them. Throws if they cannot be read. */
export async function describeCredentials(env: Variables): Promise<string> {
  const { type, source } = await findCredentials(env);
  return type === 'metadata' ? source : `${NAMES[type]} in ${source}`;
}

const NAMES: Readonly<Record<Exclude<Credentials['type'], 'metadata'>, string>> = {
  service_account: 'the key of a service account',
  authorized_user: 'a login of gcloud',
  external_account: 'workload identity',
  impersonated_service_account: 'an impersonated service account',
};

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type JsonObject,
  messageOf,
  objectOf,
  parseObject,
  PolypodError,
  stringOf,
  systemCodeOf,
} from '../../base/index.ts';

/** Environment variables, passed in as an argument. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** What a token is requested with. `source` names the origin in errors. */
export type Credentials = { readonly source: string } & (
  | {
      readonly type: 'service_account';
      readonly email: string;
      readonly privateKey: string;
      readonly keyId: string;
      readonly tokenUrl: string;
    }
  | {
      readonly type: 'authorized_user';
      readonly clientId: string;
      readonly clientSecret: string;
      readonly refreshToken: string;
      readonly tokenUrl: string;
    }
  | {
      readonly type: 'external_account';
      readonly audience: string;
      readonly subjectTokenType: string;
      readonly tokenUrl: string;
      readonly subject: SubjectSource;
      readonly impersonationUrl: string | undefined;
    }
  | {
      readonly type: 'impersonated_service_account';
      readonly impersonationUrl: string;
      readonly delegates: unknown;
      readonly base: Credentials;
    }
  | { readonly type: 'metadata'; readonly url: string }
);

/** Where the token of another identity provider is. `field` names it in JSON; absent: the whole text is the token. */
export interface SubjectSource {
  readonly file?: string;
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly field: string | undefined;
}

const TOKEN_URL = 'https://oauth2.googleapis.com/token';

/** Finds the application default credentials in Google's order: the variable, the file of gcloud, the metadata server. */
export async function findCredentials(env: Variables): Promise<Credentials> {
  const named = env['GOOGLE_APPLICATION_CREDENTIALS']?.trim() ?? '';
  if (named !== '') return parseCredentials(await readNamed(named), named);
  const directory = env['CLOUDSDK_CONFIG'] || join(env['HOME'] ?? '/', '.config', 'gcloud');
  const file = join(directory, 'application_default_credentials.json');
  const text = await readFile(file, 'utf8').catch((thrown: unknown) => {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw new PolypodError('bad-request', `the credentials of gcloud cannot be read: ${messageOf(thrown)}`);
  });
  if (text !== undefined) return parseCredentials(text, file);
  const host = env['GCE_METADATA_HOST'] || env['GCE_METADATA_IP'] || '169.254.169.254';
  return {
    type: 'metadata',
    url: `http://${host}/computeMetadata/v1/instance/service-accounts/default/token`,
    source: 'the metadata server',
  };
}

async function readNamed(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    throw new PolypodError(
      'bad-request',
      `the file that GOOGLE_APPLICATION_CREDENTIALS names cannot be read: ${messageOf(thrown)}`,
      { cause: thrown },
    );
  }
}

/** Reads a credentials file. Errors contain no part of its content. */
export function parseCredentials(text: string, source: string): Credentials {
  const file = parseObject(text);
  if (file === undefined)
    throw new PolypodError('bad-request', `${source} is not a credentials file of Google Cloud: ${LOGIN}`);
  return credentialsOf(file, source);
}

const LOGIN = 'run gcloud auth application-default login, or download the key of a service account';

function credentialsOf(file: JsonObject, source: string): Credentials {
  const field = (name: string): string => {
    const value = stringOf(file[name]);
    if (value !== '') return value;
    throw new PolypodError('bad-request', `${source} has no "${name}": ${LOGIN}`);
  };
  const tokenUrl = stringOf(file['token_uri']) || TOKEN_URL;
  switch (file['type']) {
    case 'service_account':
      return {
        type: 'service_account',
        email: field('client_email'),
        privateKey: field('private_key'),
        keyId: stringOf(file['private_key_id']),
        tokenUrl,
        source,
      };
    case 'authorized_user':
      return {
        type: 'authorized_user',
        clientId: field('client_id'),
        clientSecret: field('client_secret'),
        refreshToken: field('refresh_token'),
        tokenUrl,
        source,
      };
    case 'external_account':
      return {
        type: 'external_account',
        audience: field('audience'),
        subjectTokenType: field('subject_token_type'),
        tokenUrl: field('token_url'),
        subject: subjectSource(objectOf(file['credential_source']), source),
        impersonationUrl: stringOf(file['service_account_impersonation_url']) || undefined,
        source,
      };
    case 'impersonated_service_account':
      return {
        type: 'impersonated_service_account',
        impersonationUrl: field('service_account_impersonation_url'),
        delegates: file['delegates'],
        base: credentialsOf(objectOf(file['source_credentials']), source),
        source,
      };
    default:
      throw new PolypodError(
        'bad-request',
        `${source} has credentials of the type "${stringOf(file['type'])}", which Polypod does not use itself: add key_command: [gcloud, auth, print-access-token] to the account`,
      );
  }
}

function subjectSource(source: JsonObject, file: string): SubjectSource {
  const [path, url] = [stringOf(source['file']), stringOf(source['url'])];
  if (path === '' && url === '')
    throw new PolypodError(
      'bad-request',
      `${file} takes its identity from AWS, a certificate or a program, which Polypod does not do itself: add key_command: [gcloud, auth, print-access-token] to the account`,
    );
  const format = objectOf(source['format']);
  const headers = Object.entries(objectOf(source['headers']));
  return {
    ...(path === '' ? { url } : { file: path }),
    headers: Object.fromEntries(headers.map(([name, value]) => [name, stringOf(value)])),
    field: format['type'] === 'json' ? stringOf(format['subject_token_field_name']) : undefined,
  };
}

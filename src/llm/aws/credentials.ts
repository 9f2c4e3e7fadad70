/** Credentials of AWS accounts, with the official packages. Loaded when an account that signs its requests is used. */
import { Readable } from 'node:stream';
import { fromNodeProviderChain, fromTemporaryCredentials } from '@aws-sdk/credential-providers';
import { loadSharedConfigFiles } from '@smithy/core/config';
import { HttpResponse } from '@smithy/core/protocols';
import { messageOf, PolypodError, withoutUndefined } from '../../base/index.ts';
import type { Transport } from '../../wire/index.ts';
import type { AwsSettings } from './settings.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

export interface CredentialsOptions extends AwsSettings {
  readonly region: string;
  /** Requests to AWS's own services (STS, IAM Identity Center) use the same proxies and certificates as those to models. */
  readonly transport: Transport;
  readonly signal: AbortSignal;
}

/**
 * Obtains credentials: those in the environment, or else by the default chain of AWS (the profile with its role, process, SSO session
 * or web identity, then the container or instance). A role of the account is assumed with them.
 */
export async function obtainCredentials(options: CredentialsOptions): Promise<AwsCredentials> {
  const { env, profile, roleArn, region, source } = options;
  const handler = { requestHandler: requestHandler(options) };
  const base =
    environmentCredentials(options) ??
    fromNodeProviderChain({
      ...withoutUndefined({
        profile: profile ?? env.AWS_PROFILE,
        // The variables of this process have no secrets.
        awsContainerAuthorizationToken: env.AWS_CONTAINER_AUTHORIZATION_TOKEN,
      }),
      ...sharedFiles(options),
      clientConfig: handler,
      // For roles. In `clientConfig`, it would replace the region of an SSO session.
      parentClientConfig: { region },
    });
  const provide =
    roleArn === undefined
      ? base
      : fromTemporaryCredentials({
          masterCredentials: base,
          params: { RoleArn: roleArn, RoleSessionName: 'polypod' },
          clientConfig: { ...handler, region },
        });
  try {
    return typeof provide === 'function' ? await provide() : provide;
  } catch (thrown) {
    throw new PolypodError(
      'bad-request',
      `no AWS credentials (${messageOf(thrown)}): set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or add profile to ${source}`,
      { cause: thrown },
    );
  }
}

/** The region of the profile; undefined if it has none. */
export async function profileRegion(settings: AwsSettings): Promise<string | undefined> {
  const { env, profile = env.AWS_PROFILE ?? 'default' } = settings;
  const { configFile, credentialsFile } = await loadSharedConfigFiles(sharedFiles(settings));
  return configFile[profile]?.region ?? credentialsFile[profile]?.region;
}

/** Like AWS's own tools, a profile takes precedence over keys in the environment. */
function environmentCredentials({ env, profile = env.AWS_PROFILE }: AwsSettings): AwsCredentials | undefined {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env;
  if (profile || !id || !secret) return undefined;
  return { accessKeyId: id, secretAccessKey: secret, ...(token ? { sessionToken: token } : {}) };
}

/** The files are read again each time: other programs write credentials that expire into them. */
function sharedFiles({ env }: AwsSettings) {
  return {
    ...withoutUndefined({
      filepath: env.AWS_SHARED_CREDENTIALS_FILE,
      configFilepath: env.AWS_CONFIG_FILE,
    }),
    ignoreCache: true,
  };
}

interface ServiceRequest {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

function requestHandler({ transport, signal }: CredentialsOptions) {
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(request: ServiceRequest) {
      const { status, headers, body } = await transport(
        {
          method: request.method === 'GET' ? 'GET' : 'POST',
          url: urlOf(request),
          headers: request.headers,
          ...withoutUndefined({ body: bodyText(request.body) }),
        },
        { signal, onOpen: () => {} },
      );
      return {
        response: new HttpResponse({
          statusCode: status,
          headers: { ...headers },
          body: Readable.from(body),
        }),
      };
    },
  };
}

function bodyText(body: unknown): string | undefined {
  if (body instanceof Uint8Array) return Buffer.from(body).toString('utf8');
  return typeof body === 'string' ? body : undefined;
}

function urlOf({ protocol, hostname, port, path, query = {} }: ServiceRequest): string {
  const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`);
  for (const [name, value] of Object.entries(query))
    for (const one of [value ?? ''].flat()) url.searchParams.append(name, one);
  return url.href;
}

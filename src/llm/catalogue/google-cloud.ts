import type { KeySupply } from '../account.ts';
import type { Environment } from './environment.ts';

/** The part of an address that belongs to a customer of Google Cloud. */
export interface GoogleCloudProject {
  readonly project?: string;
  readonly location?: string;
}

/** Google's own name first, then those of other agents. */
const PROJECT_VARIABLES = ['GOOGLE_CLOUD_PROJECT', 'ANTHROPIC_VERTEX_PROJECT_ID'];
const LOCATION_VARIABLES = ['GOOGLE_CLOUD_LOCATION', 'CLOUD_ML_REGION'];

/** Matches the id of a project, also one with the domain of an organization. */
export const GOOGLE_PROJECT = /^(?:[a-z\d.-]+:)?[a-z\d][a-z\d-]*$/;
/** Matches a region such as `europe-west4`, a multi-region such as `eu`, and `global`. */
export const GOOGLE_LOCATION = /^[a-z][a-z\d-]*$/;

/** The base URL of Vertex AI for a project and a location, or what is missing. */
export function vertexAddress(
  stated: GoogleCloudProject,
  env: Environment,
  source: string,
): { readonly baseUrl: string } | { readonly problem: string } {
  const fromEnv = (names: readonly string[]): string | undefined =>
    names.map((name) => env[name]?.trim()).find(Boolean);
  const project = stated.project ?? fromEnv(PROJECT_VARIABLES);
  const location = stated.location ?? fromEnv(LOCATION_VARIABLES) ?? 'global';
  if (project === undefined)
    return { problem: `no Google Cloud project: set ${PROJECT_VARIABLES[0]}, or add project to ${source}` };
  if (!GOOGLE_PROJECT.test(project))
    return { problem: `"${project}" is not the id of a Google Cloud project: check ${PROJECT_VARIABLES[0]}` };
  if (!GOOGLE_LOCATION.test(location))
    return { problem: `"${location}" is not a location of Google Cloud: check ${LOCATION_VARIABLES[0]}` };
  return { baseUrl: `https://${hostFor(location)}/v1/projects/${project}/locations/${location}` };
}

/** Whether the environment names a project and credentials, so that the account may be used without being named. */
export function hasGoogleCloud(env: Environment): boolean {
  const isSet = (name: string): boolean => (env[name] ?? '').trim() !== '';
  return PROJECT_VARIABLES.some(isSet) && isSet('GOOGLE_APPLICATION_CREDENTIALS');
}

function hostFor(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  if (location === 'us' || location === 'eu') return `aiplatform.${location}.rep.googleapis.com`;
  return `${location}-aiplatform.googleapis.com`;
}

/** Supplies tokens from a credentials file, or from the application default credentials. */
export function googleSupply(
  env: Environment,
  stated?: { readonly text: string; readonly source: string },
): KeySupply {
  let loading: Promise<KeySupply> | undefined;
  // Loaded with the first token: no other account needs it.
  const load = (): Promise<KeySupply> =>
    (loading ??= import('../google-auth/index.ts').then(({ googleKeySupply }) =>
      googleKeySupply({ env, ...(stated && { stated }) }),
    ));
  return {
    isToken: true,
    key: async (signal) => (await load()).key(signal),
    renew: async (rejected, signal) => (await load()).renew(rejected, signal),
  };
}

/** Describes the application default credentials without using them. Throws if they cannot be read. */
export async function describeGoogleCredentials(env: Environment): Promise<string> {
  return (await import('../google-auth/index.ts')).describeCredentials(env);
}

import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { googleKeySupply } from '../../../src/llm/google-auth/index.ts';
import { type Sim, type SimOptions, startSim } from '../../../src/sim/index.ts';
import { temporaryDirectory } from '../../cli/polypod.ts';
import { thrownBy } from '../../sim/sims.ts';

const NEVER = new AbortController().signal;
const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

async function simWith(options: SimOptions = { tokens: ['ya29.first', 'ya29.second'] }): Promise<Sim> {
  const sim = await startSim(options);
  onTestFinished(() => sim.close());
  return sim;
}

function serviceAccount(sim: Sim) {
  return {
    type: 'service_account',
    project_id: 'my-project',
    private_key_id: 'key-7',
    private_key: privateKey,
    client_email: 'agent@my-project.iam.gserviceaccount.com',
    token_uri: `${sim.url}/token`,
  };
}

function userLogin(sim: Sim, refresh_token = 'refresh-secret') {
  const client = { client_id: 'client', client_secret: 'client-secret' };
  return { type: 'authorized_user', ...client, refresh_token, token_uri: `${sim.url}/token` };
}

function fileWith(content: unknown): string {
  const file = join(temporaryDirectory(), 'credentials.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/** A supply for the credentials file that the variable names. */
function supplyFor(content: unknown) {
  return googleKeySupply({ env: { GOOGLE_APPLICATION_CREDENTIALS: fileWith(content) } });
}

const formOf = ({ body }: Sim['requests'][number]) =>
  Object.fromEntries(new URLSearchParams(String(body))) as Record<string, string>;

describe('application default credentials', () => {
  it('exchange a statement that the key of a service account has signed', async () => {
    const sim = await simWith();
    expect(await supplyFor(serviceAccount(sim)).key(NEVER)).toBe('ya29.first');
    const [request] = sim.requests;
    const { grant_type, assertion = '' } = formOf(request as Sim['requests'][number]);
    expect(grant_type).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const [header = '', claims = '', signature = ''] = assertion.split('.');
    const decoded = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(decoded(header)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-7' });
    expect(decoded(claims)).toMatchObject({
      iss: 'agent@my-project.iam.gserviceaccount.com',
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      aud: `${sim.url}/token`,
    });
    const signed = Buffer.from(`${header}.${claims}`);
    const key = createPublicKey(publicKey);
    expect(verify('RSA-SHA256', signed, key, Buffer.from(signature, 'base64url'))).toBe(true);
  });

  it('are the login of gcloud if the variable is not set', async () => {
    const sim = await simWith();
    const HOME = temporaryDirectory();
    mkdirSync(join(HOME, '.config/gcloud'), { recursive: true });
    const file = join(HOME, '.config/gcloud/application_default_credentials.json');
    writeFileSync(file, JSON.stringify(userLogin(sim)));
    expect(await googleKeySupply({ env: { HOME } }).key(NEVER)).toBe('ya29.first');
    expect(formOf(sim.requests[0] as Sim['requests'][number])).toEqual({
      grant_type: 'refresh_token',
      client_id: 'client',
      client_secret: 'client-secret',
      refresh_token: 'refresh-secret',
    });
  });

  it('come from the metadata server if there is no file, never through a proxy', async () => {
    const sim = await simWith();
    const { host } = new URL(sim.url);
    const env = {
      HOME: temporaryDirectory(),
      GCE_METADATA_HOST: host,
      HTTP_PROXY: 'http://127.0.0.1:9',
      NO_PROXY: '<-loopback>',
    };
    expect(await googleKeySupply({ env }).key(NEVER)).toBe('ya29.first');
    expect(sim.requests[0]?.headers).toMatchObject({ 'metadata-flavor': 'Google' });
  });

  it('exchange the token of another identity provider, and impersonate a service account', async () => {
    const sim = await simWith();
    const identity = fileWith({ id_token: 'identity-secret' });
    const supply = supplyFor({
      type: 'external_account',
      audience: '//iam.googleapis.com/pool',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${sim.url}/v1/token`,
      credential_source: {
        file: identity,
        format: { type: 'json', subject_token_field_name: 'id_token' },
      },
      service_account_impersonation_url: `${sim.url}/v1/agent:generateAccessToken`,
    });
    expect(await supply.key(NEVER)).toBe('ya29.second');
    const [exchange, impersonation] = sim.requests;
    expect(formOf(exchange as Sim['requests'][number])).toMatchObject({
      audience: '//iam.googleapis.com/pool',
      subject_token: 'identity-secret',
    });
    expect(impersonation?.headers.authorization).toBe('Bearer ya29.first');
    expect(impersonation?.body).toMatchObject({ lifetime: '3600s' });
  });

  it('impersonate a service account with the login of gcloud', async () => {
    const sim = await simWith();
    const supply = supplyFor({
      type: 'impersonated_service_account',
      service_account_impersonation_url: `${sim.url}/v1/agent:generateAccessToken`,
      delegates: [],
      source_credentials: userLogin(sim),
    });
    expect(await supply.key(NEVER)).toBe('ya29.second');
  });
});

describe('a token of Google Cloud', () => {
  it('is requested once for concurrent requests, and again after it was rejected', async () => {
    const sim = await simWith();
    const { key, renew } = supplyFor(userLogin(sim));
    expect(await Promise.all([key(NEVER), key(NEVER)])).toEqual(['ya29.first', 'ya29.first']);
    expect(sim.requests).toHaveLength(1);
    expect(await Promise.all([renew('ya29.first', NEVER), renew('ya29.first', NEVER)])).toEqual([
      'ya29.second',
      'ya29.second',
    ]);
    expect(await key(NEVER)).toBe('ya29.second');
    expect(sim.requests).toHaveLength(2);
  });

  it('is requested with new credentials after another login', async () => {
    const sim = await simWith();
    const file = fileWith(userLogin(sim, 'first-login'));
    const { key, renew } = googleKeySupply({ env: { GOOGLE_APPLICATION_CREDENTIALS: file } });
    const first = await key(NEVER);
    writeFileSync(file, JSON.stringify(userLogin(sim, 'second-login')));
    await renew(first, NEVER);
    expect(sim.requests.map((request) => formOf(request).refresh_token)).toEqual([
      'first-login',
      'second-login',
    ]);
  });

  it('is missing for a reason that names the next step and contains no secret', async () => {
    const sim = await simWith();
    const reasons: Record<string, unknown> = {
      'no file': await thrownBy(missingFile().key(NEVER)),
      'not JSON': await thrownBy(supplyFor('refresh-secret').key(NEVER)),
      'no field': await thrownBy(supplyFor({ ...userLogin(sim), refresh_token: '' }).key(NEVER)),
      'bad key': await thrownBy(
        supplyFor({ ...serviceAccount(sim), private_key: 'private-secret' }).key(NEVER),
      ),
      program: await thrownBy(
        supplyFor({
          type: 'external_account',
          audience: 'a',
          subject_token_type: 'b',
          token_url: `${sim.url}/token`,
          credential_source: { executable: { command: 'print-token' } },
        }).key(NEVER),
      ),
    };
    for (const reason of Object.values(reasons)) expect(String(reason)).not.toMatch(/secret|BEGIN/);
    expect(String(reasons['no file'])).toContain(
      'GOOGLE_APPLICATION_CREDENTIALS names cannot be read: ENOENT',
    );
    expect(String(reasons['not JSON'])).toContain('run gcloud auth application-default login');
    expect(String(reasons['no field'])).toContain('has no "refresh_token"');
    expect(String(reasons['bad key'])).toContain('the private key in');
    expect(String(reasons.program)).toContain('add key_command: [gcloud, auth, print-access-token]');
  });

  it('is rejected with the reason of the server', async () => {
    const sim = await simWith();
    const supply = supplyFor({
      ...serviceAccount(sim),
      client_email: 'x',
      token_uri: `${sim.url}/elsewhere`,
    });
    const message = String(await thrownBy(supply.key(NEVER)));
    expect(message).toContain(`${sim.url} rejects`);
    expect(message).toContain('the simulator has no route POST /elsewhere');
    expect(message).toContain('replace the key of the service account');
  });

  it('cannot be requested from a server that is not there', async () => {
    const sim = await simWith();
    await sim.close();
    const thrown = await thrownBy(supplyFor(userLogin(sim)).key(NEVER));
    expect(thrown).toMatchObject({ code: 'unreachable' });
    expect(String(thrown)).toContain(`cannot reach ${sim.url} for a Google Cloud token`);
    const { host } = new URL(sim.url);
    const env = { HOME: temporaryDirectory(), GCE_METADATA_HOST: host };
    const none = await thrownBy(googleKeySupply({ env }).key(NEVER));
    expect(none).toMatchObject({ code: 'bad-request' });
    expect(String(none)).toContain('there are no Google Cloud credentials: run gcloud auth');
  });
});

function missingFile() {
  const file = fileWith('{}');
  rmSync(file);
  return googleKeySupply({ env: { GOOGLE_APPLICATION_CREDENTIALS: file } });
}

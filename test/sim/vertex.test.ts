import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuthenticationError } from '@anthropic-ai/sdk';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { ApiError, GoogleGenAI } from '@google/genai';
import { describe, expect, test } from 'vitest';
import type { Sim } from '../../src/sim/index.ts';
import { temporaryDirectory } from '../cli/polypod.ts';
import { simStarter, thrownBy } from './sims.ts';

const start = simStarter();
const script = [{ parts: [{ thinking: 'Hm.', signature: 'c2lnbmVk' }, { text: 'From Vertex AI.' }] }];
const place = { project: 'my-project', location: 'europe-west4' };

/** Credentials of workload identity: Google's library sends them to the address in the file. */
function credentials(sim: Sim) {
  const file = join(temporaryDirectory(), 'identity');
  writeFileSync(file, 'identity-of-another-provider');
  return {
    type: 'external_account',
    audience:
      '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${sim.url}/v1/token`,
    credential_source: { file },
  } as const;
}

describe('the official Google client for Vertex AI', () => {
  const clientOf = (sim: Sim) =>
    new GoogleGenAI({
      vertexai: true,
      ...place,
      googleAuthOptions: { credentials: credentials(sim), projectId: place.project },
      httpOptions: { baseUrl: sim.url, apiVersion: 'v1' },
    });

  test('gets a token for an identity, and streams an answer', async () => {
    const sim = await start({ script, keys: ['ya29.issued'] });
    let text = '';
    for await (const chunk of await clientOf(sim).models.generateContentStream({
      model: 'gemini-sim',
      contents: 'Hello?',
    }))
      text += chunk.text ?? '';
    expect(text).toBe('From Vertex AI.');
    expect(sim.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v1/token',
      'POST /v1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-sim:streamGenerateContent?alt=sse',
    ]);
    expect(sim.requests[1]?.headers.authorization).toBe('Bearer ya29.issued');
  });

  test('receives the error for a token that is not valid', async () => {
    const sim = await start({ script, keys: ['ya29.valid'], tokens: ['ya29.other'] });
    const thrown = await thrownBy(
      clientOf(sim).models.generateContent({ model: 'gemini-sim', contents: 'Hello?' }),
    );
    expect(thrown).toBeInstanceOf(ApiError);
    expect(thrown).toMatchObject({ status: 401 });
  });
});

describe('the official Anthropic client for Vertex AI', () => {
  const ask = {
    model: 'claude-sim@20260901',
    max_tokens: 100,
    messages: [{ role: 'user' as const, content: 'Hello?' }],
  };
  type AuthClient = NonNullable<ConstructorParameters<typeof AnthropicVertex>[0]>['authClient'];
  const clientOf = (sim: Sim, token: string) => {
    const getRequestHeaders = async () => new Headers({ authorization: `Bearer ${token}` });
    return new AnthropicVertex({
      projectId: place.project,
      region: place.location,
      baseURL: `${sim.url}/v1`,
      authClient: { getRequestHeaders } as unknown as AuthClient,
      maxRetries: 0,
    });
  };

  test('streams an answer, and returns one without streaming', async () => {
    const sim = await start({ script: [...script, ...script], keys: ['ya29.issued'] });
    const client = clientOf(sim, 'ya29.issued');
    const streamed = await client.messages.stream(ask).finalMessage();
    const complete = await client.messages.create(ask);
    expect(streamed.content).toEqual(complete.content);
    expect(streamed).toMatchObject({ model: ask.model, stop_reason: 'end_turn' });
    expect(sim.requests.map(({ path }) => path)).toEqual(
      ['streamRawPredict', 'rawPredict'].map(
        (method) =>
          `/v1/projects/my-project/locations/europe-west4/publishers/anthropic/models/claude-sim@20260901:${method}`,
      ),
    );
    expect(sim.requests[0]?.body).toMatchObject({ anthropic_version: expect.any(String), stream: true });
    expect(sim.requests[0]?.body).not.toHaveProperty('model');
  });

  test('receives the error for a token that is not valid', async () => {
    const sim = await start({ script, keys: ['ya29.valid'] });
    const client = clientOf(sim, 'ya29.other');
    expect(await thrownBy(client.messages.create(ask))).toBeInstanceOf(AuthenticationError);
  });
});

import { AuthenticationError, AzureOpenAI } from 'openai';
import { describe, expect, test } from 'vitest';
import { simStarter, thrownBy } from './sims.ts';

const start = simStarter();
const ask = { model: 'my-deployment', messages: [{ role: 'user' as const, content: 'Hello?' }] };
const apiVersion = '2024-10-21';

describe('the official OpenAI client for Azure', () => {
  test('streams an answer of a deployment, with a key', async () => {
    const sim = await start({ script: [{ parts: [{ text: 'From Azure.' }] }], keys: ['azure-key'] });
    const client = new AzureOpenAI({ endpoint: sim.url, apiKey: 'azure-key', apiVersion, maxRetries: 0 });
    const { choices } = await client.chat.completions.stream(ask).finalChatCompletion();
    expect(choices[0]?.message.content).toBe('From Azure.');
    expect(sim.requests[0]).toMatchObject({
      path: `/openai/deployments/my-deployment/chat/completions?api-version=${apiVersion}`,
      headers: { 'api-key': 'azure-key' },
    });
  });

  test('streams an answer with an Entra token', async () => {
    const sim = await start({ script: [{ parts: [{ text: 'From Azure.' }] }], keys: ['entra-token'] });
    const azureADTokenProvider = async () => 'entra-token';
    const client = new AzureOpenAI({ endpoint: sim.url, azureADTokenProvider, apiVersion, maxRetries: 0 });
    const { choices } = await client.chat.completions.stream(ask).finalChatCompletion();
    expect(choices[0]?.message.content).toBe('From Azure.');
    expect(sim.requests[0]?.headers.authorization).toBe('Bearer entra-token');
  });

  test('receives the error for a wrong key', async () => {
    const sim = await start({ keys: ['azure-key'] });
    const client = new AzureOpenAI({ endpoint: sim.url, apiKey: 'other', apiVersion, maxRetries: 0 });
    expect(await thrownBy(client.chat.completions.create(ask))).toBeInstanceOf(AuthenticationError);
  });
});

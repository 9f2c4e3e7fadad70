import { describe, expect, it } from 'vitest';
import {
  connect,
  type Item,
  type LlmEvent,
  type LlmRequest,
  type Seal,
  textContent,
} from '../../src/llm/index.ts';
import { providers } from '../../src/registry.ts';
import { type SimRequest, startSim } from '../../src/sim/index.ts';

const never = new AbortController().signal;

const PIXEL = 'iVBORw0KGgo=';

const TOOL = {
  name: 'read',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};

const user = (text: string): Item => ({ type: 'message', role: 'user', content: textContent(text) });
const assistant = (text: string): Item => ({
  type: 'message',
  role: 'assistant',
  content: textContent(text),
});

/** A conversation with images, parallel calls, a failed result, and thinking and opaque blocks of all providers. */
function conversation(seals: Readonly<Record<string, Seal>>): LlmRequest {
  return {
    model: 'some-model',
    system: 'Be brief.',
    items: [
      {
        type: 'message',
        role: 'user',
        content: [...textContent('What is this?'), { type: 'image', mediaType: 'image/png', data: PIXEL }],
      },
      ...Object.values(seals).map(
        (seal): Item => ({ type: 'reasoning', text: `thought for ${seal.wire}`, seal }),
      ),
      { type: 'reasoning', text: 'unsealed thought' },
      assistant('I look at both.'),
      { type: 'tool-call', callId: 'call|1', name: 'read', arguments: '{"path":"a"}' },
      { type: 'tool-call', callId: 'call_2', name: 'read', arguments: '{"path":' },
      { type: 'tool-result', callId: 'call|1', content: textContent('A!'), isError: false },
      { type: 'tool-result', callId: 'call_2', content: textContent('no such file'), isError: true },
      {
        type: 'opaque',
        name: 'server_tool_use',
        seal: { wire: 'anthropic', data: { block: { type: 'server_tool_use', id: 's' } } },
      },
      assistant('One is A.'),
      user('Thanks.'),
    ],
    tools: [TOOL],
    toolChoice: 'auto',
    maxTokens: 500,
    temperature: 0.2,
    stopSequences: ['END'],
    cache: { ttl: '1h' },
  };
}

const SEALS: Readonly<Record<string, Seal>> = {
  anthropic: { wire: 'anthropic', data: { signature: 'sig-anthropic' } },
  'openai-chat': { wire: 'openai-chat', data: { field: 'reasoning_content' } },
  'openai-responses': {
    wire: 'openai-responses',
    data: {
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'thought for openai-responses' }],
      encrypted_content: 'enc',
    },
  },
  gemini: { wire: 'gemini', data: { signature: 'sig-gemini' } },
  ollama: { wire: 'ollama', data: {} },
  bedrock: { wire: 'bedrock', data: { signature: 'sig-bedrock' } },
};

describe.each(providers.map((provider) => [provider.name, provider] as const))('%s', (name, provider) => {
  it('lowers a conversation with all kinds of items', async () => {
    const body = JSON.stringify(provider.lower(conversation(SEALS)), null, 2);
    await expect(`${body}\n`).toMatchFileSnapshot(`fixtures/lowered/${name}.json`);
  });

  it('sends thinking back only to the provider that wrote it', () => {
    const body = JSON.stringify(provider.lower(conversation(SEALS)));
    const sent = Object.keys(SEALS).filter((wire) => body.includes(`thought for ${wire}`));
    expect(sent).toEqual([name]);
    expect(body).not.toContain('unsealed thought');
  });

  it('sends no half of a surrogate pair', async () => {
    const sim = await startSim({ script: () => ({ parts: [{ text: 'ok' }] }) });
    const path = { gemini: '/v1beta', 'openai-chat': '/v1', 'openai-responses': '/v1' }[name] ?? '';
    const llm = connect(provider, { name: 'sim', api: name, baseUrl: `${sim.url}${path}` });
    const text = 'a\ud83d b\udc00 😀 \\ud83d \\\ud800.';
    for await (const _ of llm.stream({ model: 'm', items: [user(text)] }, never));
    await sim.close();
    expect(JSON.stringify(sim.requests[0]?.body)).toContain(
      JSON.stringify('a\ufffd b\ufffd 😀 \\ud83d \\\ufffd.').slice(1, -1),
    );
  });

  it('sends every text, call and result of the conversation', async () => {
    const seen: SimRequest[] = [];
    const sim = await startSim({
      script: (request) => {
        seen.push(request);
        return { parts: [{ text: 'ok' }] };
      },
    });
    const path = { gemini: '/v1beta', 'openai-chat': '/v1', 'openai-responses': '/v1' }[name] ?? '';
    const llm = connect(provider, { name: 'sim', api: name, baseUrl: `${sim.url}${path}` });
    const events: LlmEvent[] = [];
    for await (const event of llm.stream(conversation(SEALS), never)) events.push(event);
    await sim.close();
    expect(events.at(-1)).toMatchObject({ status: 'completed' });
    const [request] = seen;
    expect(request?.system).toBe('Be brief.');
    expect(request?.tools).toEqual([{ name: TOOL.name, parameters: TOOL.parameters }]);
    const messages = request?.messages ?? [];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(messages[0]?.text).toContain('What is this?');
    expect(messages[1]?.text).toContain('I look at both.');
    expect(messages[1]?.toolCalls[0]).toMatchObject({ name: 'read', arguments: { path: 'a' } });
    expect(messages[2]?.toolResults.map(({ text }) => text)).toEqual([
      expect.stringContaining('A!'),
      expect.stringContaining('no such file'),
    ]);
    expect(messages[3]?.text).toContain('One is A.');
    expect(messages[4]?.text).toBe('Thanks.');
  });

  it.each(['auto', 'none', 'required', { name: 'read' }] as const)(
    'lowers the tool choice %j',
    (toolChoice) => {
      const request: LlmRequest = { model: 'm', items: [user('x')], tools: [TOOL], toolChoice };
      const expected = TOOL_CHOICES[name]?.[typeof toolChoice === 'string' ? toolChoice : 'named'];
      expect(provider.lower(request)).toMatchObject(expected ?? {});
    },
  );

  it('omits optional fields that are not set', () => {
    const body = provider.lower({ model: 'm', items: [user('x')] });
    const always = ALWAYS[name] ?? [];
    expect(Object.keys(body).toSorted()).toEqual([...always].toSorted());
  });
});

const ALWAYS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['model', 'max_tokens', 'stream', 'messages'],
  'openai-chat': ['model', 'stream', 'stream_options', 'messages'],
  'openai-responses': ['model', 'stream', 'store', 'input'],
  gemini: ['contents'],
  ollama: ['model', 'stream', 'messages'],
  bedrock: ['messages'],
};

const TOOL_CHOICES: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  anthropic: {
    auto: { tool_choice: { type: 'auto' } },
    none: { tool_choice: { type: 'none' } },
    required: { tool_choice: { type: 'any' } },
    named: { tool_choice: { type: 'tool', name: 'read' } },
  },
  'openai-chat': {
    auto: { tool_choice: 'auto' },
    none: { tool_choice: 'none' },
    required: { tool_choice: 'required' },
    named: { tool_choice: { type: 'function', function: { name: 'read' } } },
  },
  'openai-responses': {
    auto: { tool_choice: 'auto' },
    none: { tool_choice: 'none' },
    required: { tool_choice: 'required' },
    named: { tool_choice: { type: 'function', name: 'read' } },
  },
  gemini: {
    auto: { toolConfig: { functionCallingConfig: { mode: 'AUTO' } } },
    none: { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
    required: { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    named: { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['read'] } } },
  },
  bedrock: {
    auto: { toolConfig: { toolChoice: { auto: {} } } },
    none: {},
    required: { toolConfig: { toolChoice: { any: {} } } },
    named: { toolConfig: { toolChoice: { tool: { name: 'read' } } } },
  },
  ollama: { auto: { tools: [{}] }, none: {}, required: { tools: [{}] }, named: { tools: [{}] } },
};

describe('thinking levels', () => {
  const body = (wire: string, model: string, thinking: LlmRequest['thinking']) => {
    const request: LlmRequest = {
      model,
      items: [user('x')],
      temperature: 0.5,
      ...(thinking ? { thinking } : {}),
    };
    return providers.find((provider) => provider.name === wire)?.lower(request);
  };

  it('become a budget within max_tokens, without a temperature, for Claude up to 4.5', () => {
    for (const model of [
      'claude-sonnet-4-5',
      'claude-sonnet-4-5-20250929',
      'claude-opus-4-20250514',
      'claude-3-7-sonnet-latest',
    ]) {
      const lowered = body('anthropic', model, 'high');
      expect(lowered).toMatchObject({
        thinking: { type: 'enabled', budget_tokens: 16_384 },
        max_tokens: 32_000,
      });
      expect(lowered).not.toHaveProperty('temperature');
    }
    expect(body('anthropic', 'claude-sonnet-4-5', 'off')).toMatchObject({ temperature: 0.5 });
  });

  it('become an effort for Claude from 4.6 on', () => {
    for (const model of ['claude-opus-4-6', 'claude-sonnet-5', 'claude-opus-4-7-20261001']) {
      expect(body('anthropic', model, 'xhigh')).toMatchObject({
        thinking: { type: 'adaptive' },
        output_config: { effort: 'max' },
      });
    }
  });

  it('become an effort for OpenAI, with encrypted reasoning', () => {
    expect(body('openai-responses', 'gpt-5.1', 'low')).toMatchObject({
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    });
    expect(body('openai-responses', 'gpt-5.1', 'off')).toMatchObject({ reasoning: { effort: 'none' } });
    expect(body('openai-responses', 'gpt-4.1', undefined)).toMatchObject({ temperature: 0.5 });
    expect(body('openai-responses', 'gpt-4.1', undefined)).not.toHaveProperty('include');
    expect(body('openai-chat', 'o4-mini', 'high')).toMatchObject({ reasoning_effort: 'high' });
  });

  it('become levels for Gemini 3 and budgets for older versions', () => {
    expect(body('gemini', 'gemini-3-pro-preview', 'medium')).toMatchObject({
      generationConfig: { thinkingConfig: { thinkingLevel: 'high', includeThoughts: true } },
    });
    expect(body('gemini', 'gemini-2.5-flash', 'off')).toMatchObject({
      generationConfig: { thinkingConfig: { thinkingBudget: 0, includeThoughts: false } },
    });
    expect(body('gemini', 'gemini-2.5-pro', 'off')).toMatchObject({
      generationConfig: { thinkingConfig: { thinkingBudget: 128 } },
    });
  });

  it('become a boolean for Ollama, and levels for gpt-oss', () => {
    expect(body('ollama', 'qwen3', 'high')).toMatchObject({ think: true });
    expect(body('ollama', 'qwen3', 'off')).toMatchObject({ think: false });
    expect(body('ollama', 'gpt-oss:20b', 'xhigh')).toMatchObject({ think: 'high' });
  });
});

/** The wire families that Polypod speaks: each is a folder beside this file and a provider in the registry. */
export const WIRES = ['anthropic', 'openai-chat', 'openai-responses', 'gemini', 'ollama'] as const;
export type Wire = (typeof WIRES)[number];

/** Someone who serves models over a wire we speak: a line of the table below, not code. */
export interface Vendor {
  /** The account's name unless the user gives another: the part before the slash in `groq/llama-3.3-70b`. */
  readonly name: string;
  /** What people also call it; accepted wherever the name is. */
  readonly aliases?: readonly string[];
  readonly wire: Wire;
  /** Up to and without the part that the wire family appends. */
  readonly baseUrl: string;
  /** The variables that may hold the key; the first one that is set counts. */
  readonly keyEnv: readonly string[];
  /** The variable with which the vendor's own tools replace the base URL, where there is such a custom. */
  readonly baseUrlEnv?: string;
  /** What our base URL has at its end that the address in that variable customarily lacks. */
  readonly baseUrlEnvPath?: string;
  /** What `polypod ask` uses when nobody named a model. */
  readonly defaultModel?: string;
  /** Fields of the request body that it refuses; see Account. */
  readonly omit?: readonly string[];
  /** A server of one's own, which answers without a key. */
  readonly keyless?: true;
}

/** In order of preference: the first with a key is the one that is used when nobody named a model. */
export const VENDORS: readonly Vendor[] = [
  {
    name: 'anthropic',
    aliases: ['claude'],
    wire: 'anthropic',
    baseUrl: 'https://api.anthropic.com',
    keyEnv: ['ANTHROPIC_API_KEY'],
    baseUrlEnv: 'ANTHROPIC_BASE_URL',
    defaultModel: 'claude-opus-5-5',
  },
  {
    name: 'openai',
    wire: 'openai-responses',
    baseUrl: 'https://api.openai.com/v1',
    keyEnv: ['OPENAI_API_KEY'],
    baseUrlEnv: 'OPENAI_BASE_URL',
    defaultModel: 'gpt-6.1-sol',
  },
  {
    name: 'google',
    aliases: ['gemini'],
    wire: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keyEnv: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    baseUrlEnv: 'GOOGLE_GEMINI_BASE_URL',
    baseUrlEnvPath: '/v1beta',
    defaultModel: 'gemini-3.8-flash',
  },
  {
    name: 'openrouter',
    wire: 'openai-chat',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyEnv: ['OPENROUTER_API_KEY'],
    defaultModel: 'anthropic/claude-sonnet-5.5',
  },
  {
    name: 'deepseek',
    wire: 'openai-chat',
    baseUrl: 'https://api.deepseek.com',
    keyEnv: ['DEEPSEEK_API_KEY'],
    defaultModel: 'deepseek-flash',
  },
  {
    name: 'mistral',
    wire: 'openai-chat',
    baseUrl: 'https://api.mistral.ai/v1',
    keyEnv: ['MISTRAL_API_KEY'],
    // It counts the tokens unasked, and answers 422 to who asks.
    omit: ['stream_options'],
    defaultModel: 'mistral-medium-latest',
  },
  {
    name: 'xai',
    aliases: ['grok'],
    wire: 'openai-chat',
    baseUrl: 'https://api.x.ai/v1',
    keyEnv: ['XAI_API_KEY'],
    defaultModel: 'grok-4.7',
  },
  {
    name: 'groq',
    wire: 'openai-chat',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyEnv: ['GROQ_API_KEY'],
    defaultModel: 'openai/gpt-oss-120b',
  },
  {
    name: 'moonshot',
    aliases: ['kimi', 'moonshotai'],
    wire: 'openai-chat',
    baseUrl: 'https://api.moonshot.ai/v1',
    keyEnv: ['MOONSHOT_API_KEY'],
    defaultModel: 'kimi-k3.1-pro',
  },
  {
    name: 'together',
    aliases: ['togetherai'],
    wire: 'openai-chat',
    baseUrl: 'https://api.together.ai/v1',
    keyEnv: ['TOGETHER_API_KEY'],
    defaultModel: 'openai/gpt-oss-120b',
  },
  {
    name: 'fireworks',
    aliases: ['fireworks-ai'],
    wire: 'openai-chat',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyEnv: ['FIREWORKS_API_KEY'],
    defaultModel: 'accounts/fireworks/models/gpt-oss-120b',
  },
  {
    name: 'cerebras',
    wire: 'openai-chat',
    baseUrl: 'https://api.cerebras.ai/v1',
    keyEnv: ['CEREBRAS_API_KEY'],
    defaultModel: 'gpt-oss-120b',
  },
  {
    name: 'alibaba',
    aliases: ['qwen', 'dashscope'],
    wire: 'openai-chat',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    keyEnv: ['DASHSCOPE_API_KEY'],
    defaultModel: 'qwen3.8-max',
  },
  {
    name: 'ollama',
    wire: 'ollama',
    baseUrl: 'http://127.0.0.1:11434',
    keyEnv: ['OLLAMA_API_KEY'],
    baseUrlEnv: 'OLLAMA_HOST',
    keyless: true,
  },
  {
    name: 'lmstudio',
    aliases: ['lm-studio'],
    wire: 'openai-chat',
    baseUrl: 'http://127.0.0.1:1234/v1',
    keyEnv: ['LM_API_TOKEN'],
    keyless: true,
  },
  {
    name: 'vllm',
    wire: 'openai-chat',
    baseUrl: 'http://127.0.0.1:8000/v1',
    keyEnv: ['VLLM_API_KEY'],
    keyless: true,
  },
  {
    name: 'llamacpp',
    aliases: ['llama.cpp'],
    wire: 'openai-chat',
    baseUrl: 'http://127.0.0.1:8080/v1',
    keyEnv: ['LLAMA_API_KEY'],
    keyless: true,
  },
];

/** The vendor of that name or alias. */
export function vendorNamed(name: string): Vendor | undefined {
  return VENDORS.find((vendor) => vendor.name === name || vendor.aliases?.includes(name) === true);
}

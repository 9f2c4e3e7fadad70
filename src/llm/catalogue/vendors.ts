import type { ModelSettings } from '../account.ts';

/** The provider APIs that Polypod supports. Each is a folder of src/llm and a provider in the registry. */
export const PROVIDER_APIS = [
  'anthropic',
  'openai-chat',
  'openai-responses',
  'gemini',
  'ollama',
  'bedrock',
] as const;
export type ProviderApi = (typeof PROVIDER_APIS)[number];

/** A company or program that serves models over a supported provider API. */
export interface Vendor {
  /** The default name of its account: the part before the slash in `groq/llama-3.3-70b`. */
  readonly name: string;
  /** Alternative names, accepted wherever the name is. */
  readonly aliases?: readonly string[];
  readonly api: ProviderApi;
  /** The URL before the part that the provider API appends. */
  readonly baseUrl: string;
  /** Every customer has an own address: `baseUrl` only shows its form. */
  readonly hasOwnAddress?: true;
  /** The header for keys, if it is not the one of the API. */
  readonly keyHeader?: string;
  /** The variables that may hold the key; the first one that is set is used. */
  readonly keyEnv: readonly string[];
  /** The variable that overrides the base URL in the vendor's own tools, if there is one. */
  readonly baseUrlEnv?: string;
  /** The path at the end of our base URL that the value of that variable usually lacks. */
  readonly baseUrlEnvPath?: string;
  /** The model used when the user names none. */
  readonly defaultModel?: string;
  /** A cheap model for small tasks, such as a title. */
  readonly smallModel?: string;
  /** Fields of the request body that it rejects; see Account. */
  readonly omit?: readonly string[];
  /** Requests without a key are signed with credentials of AWS. */
  readonly isAws?: true;
  /** A local server that requires no key. */
  readonly keyless?: true;
  /** Its address has a project and a location of Google Cloud, and its keys are tokens of Google Cloud. */
  readonly googleCloud?: true;
  /** Settings for models that it serves by several APIs; see Account. */
  readonly byModel?: readonly ModelSettings[];
}

/** In order of preference: the first vendor with a key is used when the user names no model. */
export const VENDORS: readonly Vendor[] = [
  {
    name: 'anthropic',
    aliases: ['claude'],
    api: 'anthropic',
    baseUrl: 'https://api.anthropic.com',
    keyEnv: ['ANTHROPIC_API_KEY'],
    baseUrlEnv: 'ANTHROPIC_BASE_URL',
    defaultModel: 'claude-opus-5-5',
    smallModel: 'claude-haiku-5-5',
  },
  {
    name: 'openai',
    api: 'openai-responses',
    baseUrl: 'https://api.openai.com/v1',
    keyEnv: ['OPENAI_API_KEY'],
    baseUrlEnv: 'OPENAI_BASE_URL',
    defaultModel: 'gpt-6.1-sol',
    smallModel: 'gpt-5.4-mini',
  },
  {
    name: 'azure',
    aliases: ['azure-openai'],
    api: 'openai-responses',
    baseUrl: 'https://RESOURCE.openai.azure.com/openai/v1',
    hasOwnAddress: true,
    keyHeader: 'api-key',
    keyEnv: ['AZURE_OPENAI_API_KEY'],
    baseUrlEnv: 'AZURE_OPENAI_ENDPOINT',
    baseUrlEnvPath: '/openai/v1',
  },
  {
    name: 'bedrock',
    aliases: ['amazon-bedrock'],
    api: 'bedrock',
    baseUrl: 'https://bedrock-runtime.{region}.amazonaws.com',
    isAws: true,
    keyEnv: ['AWS_BEARER_TOKEN_BEDROCK'],
    baseUrlEnv: 'AWS_ENDPOINT_URL_BEDROCK_RUNTIME',
  },
  {
    name: 'google',
    aliases: ['gemini'],
    api: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keyEnv: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    baseUrlEnv: 'GOOGLE_GEMINI_BASE_URL',
    baseUrlEnvPath: '/v1beta',
    defaultModel: 'gemini-3.8-flash',
    smallModel: 'gemini-3.5-flash-lite',
  },
  {
    name: 'openrouter',
    api: 'openai-chat',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyEnv: ['OPENROUTER_API_KEY'],
    defaultModel: 'anthropic/claude-sonnet-5.5',
  },
  {
    name: 'deepseek',
    api: 'openai-chat',
    baseUrl: 'https://api.deepseek.com',
    keyEnv: ['DEEPSEEK_API_KEY'],
    defaultModel: 'deepseek-flash',
  },
  {
    name: 'mistral',
    api: 'openai-chat',
    baseUrl: 'https://api.mistral.ai/v1',
    keyEnv: ['MISTRAL_API_KEY'],
    // Mistral always sends usage, and responds with 422 to this field.
    omit: ['stream_options'],
    defaultModel: 'mistral-medium-latest',
  },
  {
    name: 'xai',
    aliases: ['grok'],
    api: 'openai-chat',
    baseUrl: 'https://api.x.ai/v1',
    keyEnv: ['XAI_API_KEY'],
    defaultModel: 'grok-4.7',
  },
  {
    name: 'groq',
    api: 'openai-chat',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyEnv: ['GROQ_API_KEY'],
    defaultModel: 'openai/gpt-oss-120b',
  },
  {
    name: 'moonshot',
    aliases: ['kimi', 'moonshotai'],
    api: 'openai-chat',
    baseUrl: 'https://api.moonshot.ai/v1',
    keyEnv: ['MOONSHOT_API_KEY'],
    defaultModel: 'kimi-k3.1-pro',
  },
  {
    name: 'together',
    aliases: ['togetherai'],
    api: 'openai-chat',
    baseUrl: 'https://api.together.ai/v1',
    keyEnv: ['TOGETHER_API_KEY'],
    defaultModel: 'openai/gpt-oss-120b',
  },
  {
    name: 'fireworks',
    aliases: ['fireworks-ai'],
    api: 'openai-chat',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyEnv: ['FIREWORKS_API_KEY'],
    defaultModel: 'accounts/fireworks/models/gpt-oss-120b',
  },
  {
    name: 'cerebras',
    api: 'openai-chat',
    baseUrl: 'https://api.cerebras.ai/v1',
    keyEnv: ['CEREBRAS_API_KEY'],
    defaultModel: 'gpt-oss-120b',
  },
  {
    name: 'alibaba',
    aliases: ['qwen', 'dashscope'],
    api: 'openai-chat',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    keyEnv: ['DASHSCOPE_API_KEY'],
    defaultModel: 'qwen3.8-max',
  },
  // After the vendors with keys of their own: credentials of Google Cloud are often there for other programs.
  {
    name: 'vertex',
    aliases: ['vertex-ai'],
    api: 'gemini',
    baseUrl: 'https://aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION',
    googleCloud: true,
    keyHeader: 'authorization',
    // It names a file, and is withheld from commands like a key.
    keyEnv: ['GOOGLE_APPLICATION_CREDENTIALS'],
    defaultModel: 'gemini-3.8-flash',
    byModel: [
      {
        idPrefix: 'claude',
        api: 'anthropic',
        requestPath: '/publishers/anthropic/models/{model}:streamRawPredict',
        bodyFields: { anthropic_version: 'vertex-2023-10-16' },
        omit: ['model'],
      },
      {
        idPrefix: '',
        api: 'gemini',
        requestPath: '/publishers/google/models/{model}:streamGenerateContent?alt=sse',
      },
    ],
  },
  {
    name: 'ollama',
    api: 'ollama',
    baseUrl: 'http://127.0.0.1:11434',
    keyEnv: ['OLLAMA_API_KEY'],
    baseUrlEnv: 'OLLAMA_HOST',
    keyless: true,
  },
  {
    name: 'lmstudio',
    aliases: ['lm-studio'],
    api: 'openai-chat',
    baseUrl: 'http://127.0.0.1:1234/v1',
    keyEnv: ['LM_API_TOKEN'],
    keyless: true,
  },
  {
    name: 'vllm',
    api: 'openai-chat',
    baseUrl: 'http://127.0.0.1:8000/v1',
    keyEnv: ['VLLM_API_KEY'],
    keyless: true,
  },
  {
    name: 'llamacpp',
    aliases: ['llama.cpp'],
    api: 'openai-chat',
    baseUrl: 'http://127.0.0.1:8080/v1',
    keyEnv: ['LLAMA_API_KEY'],
    keyless: true,
  },
];

/** Finds a vendor by name or alias. */
export function findVendor(name: string): Vendor | undefined {
  return VENDORS.find((vendor) => vendor.name === name || vendor.aliases?.includes(name) === true);
}

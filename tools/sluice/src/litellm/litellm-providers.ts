/** How Sluice calls the provider that a prefix of LiteLLM's `model` names. */
export interface KnownProvider {
  readonly slug: string;
  readonly name: string;
  readonly protocol: string;
  /** Default host if `api_base` is absent; null if `api_base` is required. */
  readonly baseUrl: string | null;
  /** The variable from which LiteLLM reads the key; null if none is needed. */
  readonly keyEnv: string | null;
  /** Ends the path of `api_base`, which LiteLLM takes without it. */
  readonly path?: string;
}

type Row = readonly [slug: string, name: string, baseUrl: string | null, keyEnv: string | null, path?: string];

/** Providers with OpenAI's API, by prefix. */
const OPENAI_LIKE: Readonly<Record<string, Row>> = {
  openai: ['openai', 'OpenAI', 'https://api.openai.com/v1', 'OPENAI_API_KEY'],
  custom_openai: ['openai-compatible', 'OpenAI-compatible server', null, null],
  openai_like: ['openai-compatible', 'OpenAI-compatible server', null, null],
  litellm_proxy: ['litellm', 'LiteLLM', null, 'LITELLM_PROXY_API_KEY'],
  hosted_vllm: ['vllm', 'vLLM', null, null],
  ollama: ['ollama', 'Ollama', 'http://localhost:11434/v1', null, '/v1'],
  ollama_chat: ['ollama', 'Ollama', 'http://localhost:11434/v1', null, '/v1'],
  lm_studio: ['lm-studio', 'LM Studio', null, null],
  llamafile: ['llamafile', 'llamafile', 'http://127.0.0.1:8080/v1', null],
  ai21: ['ai21', 'AI21', 'https://api.ai21.com/studio/v1', 'AI21_API_KEY'],
  ai21_chat: ['ai21', 'AI21', 'https://api.ai21.com/studio/v1', 'AI21_API_KEY'],
  baseten: ['baseten', 'BaseTen', 'https://inference.baseten.co/v1', 'BASETEN_API_KEY'],
  cerebras: ['cerebras', 'Cerebras', 'https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'],
  dashscope: ['alibaba', 'Alibaba', 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'DASHSCOPE_API_KEY'],
  deepinfra: ['deepinfra', 'DeepInfra', 'https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY'],
  deepseek: ['deepseek', 'DeepSeek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY'],
  fireworks_ai: ['fireworks', 'Fireworks', 'https://api.fireworks.ai/inference/v1', 'FIREWORKS_API_KEY'],
  groq: ['groq', 'Groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY'],
  hyperbolic: ['hyperbolic', 'Hyperbolic', 'https://api.hyperbolic.xyz/v1', 'HYPERBOLIC_API_KEY'],
  minimax: ['minimax', 'Minimax', 'https://api.minimax.io/v1', 'MINIMAX_API_KEY'],
  moonshot: ['moonshotai', 'Moonshot AI', 'https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY'],
  nebius: ['nebius', 'Nebius', 'https://api.tokenfactory.nebius.com/v1', 'NEBIUS_API_KEY'],
  novita: ['novita', 'Novita', 'https://api.novita.ai/openai/v1', 'NOVITA_API_KEY'],
  nvidia_nim: ['nvidia', 'NVIDIA', 'https://integrate.api.nvidia.com/v1', 'NVIDIA_NIM_API_KEY'],
  openrouter: ['openrouter', 'OpenRouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'],
  perplexity: ['perplexity', 'Perplexity', 'https://api.perplexity.ai', 'PERPLEXITYAI_API_KEY'],
  sambanova: ['sambanova', 'SambaNova', 'https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY'],
  together_ai: ['together', 'Together', 'https://api.together.xyz/v1', 'TOGETHERAI_API_KEY'],
  voyage: ['voyageai', 'VoyageAI by MongoDB', 'https://api.voyageai.com/v1', 'VOYAGE_API_KEY'],
  xai: ['xai', 'xAI', 'https://api.x.ai/v1', 'XAI_API_KEY'],
  zai: ['z-ai', 'Z.AI', 'https://api.z.ai/api/paas/v4', 'ZAI_API_KEY'],
};

/** Providers with an API of their own, by prefix. */
const OTHERS: Readonly<Record<string, readonly [protocol: string, row: Row]>> = {
  anthropic: ['anthropic', ['anthropic', 'Anthropic', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY', '/v1']],
  azure: ['azure', ['azure', 'Azure', null, 'AZURE_API_KEY', '/openai/v1']],
  azure_ai: ['azure', ['azure', 'Azure', null, 'AZURE_AI_API_KEY', '/openai/v1']],
  bedrock: ['bedrock', ['amazon-bedrock', 'Amazon Bedrock', null, 'AWS_BEARER_TOKEN_BEDROCK']],
  cohere: ['cohere', ['cohere', 'Cohere', 'https://api.cohere.com/v2', 'COHERE_API_KEY']],
  cohere_chat: ['cohere', ['cohere', 'Cohere', 'https://api.cohere.com/v2', 'COHERE_API_KEY']],
  deepgram: ['deepgram', ['deepgram', 'Deepgram', 'https://api.deepgram.com/v1', 'DEEPGRAM_API_KEY']],
  elevenlabs: ['elevenlabs', ['elevenlabs', 'ElevenLabs', 'https://api.elevenlabs.io/v1', 'ELEVENLABS_API_KEY']],
  gemini: [
    'google',
    [
      'google-ai-studio',
      'Google AI Studio',
      'https://generativelanguage.googleapis.com/v1beta',
      'GEMINI_API_KEY',
      '/v1beta',
    ],
  ],
  mistral: ['mistral', ['mistral', 'Mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY']],
  vertex_ai: ['google-vertex', ['google-vertex', 'Google', null, 'GOOGLE_VERTEX_CREDENTIALS']],
};

const PROVIDERS: ReadonlyMap<string, KnownProvider> = new Map([
  ...Object.entries(OPENAI_LIKE).map(([prefix, row]) => [prefix, toProvider('openai', row)] as const),
  ...Object.entries(OTHERS).map(([prefix, [protocol, row]]) => [prefix, toProvider(protocol, row)] as const),
]);

/** Makers whose models LiteLLM knows without a prefix. */
const BARE_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^(?:gpt-|chatgpt-|o\d|ft:gpt-|text-embedding-|whisper-)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^command-/, 'cohere_chat'],
  [/^gemini-/, 'vertex_ai'],
];

export function knownProvider(prefix: string): KnownProvider | null {
  return PROVIDERS.get(prefix) ?? null;
}

/** Splits a `model` as LiteLLM does; the prefix is empty if the provider is not known. */
export function splitModel(model: string, stated: string | undefined): { prefix: string; upstream: string } {
  const slash = model.indexOf('/');
  const first = slash < 0 ? '' : model.slice(0, slash);
  if (stated !== undefined) return { prefix: stated, upstream: first === stated ? model.slice(slash + 1) : model };
  if (first !== '') return { prefix: first, upstream: model.slice(slash + 1) };
  return { prefix: BARE_NAMES.find(([pattern]) => pattern.test(model))?.[1] ?? '', upstream: model };
}

function toProvider(protocol: string, [slug, name, baseUrl, keyEnv, path]: Row): KnownProvider {
  return { slug, name, protocol, baseUrl, keyEnv, ...(path !== undefined && { path }) };
}

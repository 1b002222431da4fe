import type { MediaFacts } from './fact-types';

const SEES = ['text', 'image'];

/** OpenAI refuses members that it does not know, and lists that are longer. */
const OPENAI_EMBEDDINGS = {
  embeddings: { refuses: ['input_type'], max_inputs: 2_048, max_request_tokens: 300_000 },
};
const COHERE_EMBEDDINGS = { embeddings: { dimensions: [256, 512, 1_024, 1_536] } };
const ONE_SIZE = { embeddings: { dimensions: false } };

/** What Voyage embeds in one request, of models other than most. */
const VOYAGE_REQUEST_TOKENS: Readonly<Record<string, number>> = { 'voyage-4': 320_000, 'voyage-4-lite': 1_000_000 };

/** Voyage cuts what is too long unless it is told not to, knows no users, and gives floats when it is asked for nothing. */
function voyageEmbeddings(id: string): Readonly<Record<string, unknown>> {
  const isFlexible = id.startsWith('voyage-4') || id === 'voyage-code-3';
  return {
    embeddings: {
      dimensions: isFlexible && [256, 512, 1_024, 2_048],
      dimensions_member: 'output_dimension',
      refuses: ['user', 'encoding_format'],
      sets: { truncation: false },
      max_inputs: 1_000,
      max_request_tokens: VOYAGE_REQUEST_TOKENS[id] ?? 120_000,
    },
  };
}

const EMBEDDINGS: readonly MediaFacts[] = [
  ...['text-embedding-3-large', 'text-embedding-3-small'].map((id) => ({
    slug: `openai/${id}`,
    name: id === 'text-embedding-3-large' ? 'Text Embedding 3 Large' : 'Text Embedding 3 Small',
    api: 'embeddings' as const,
    released: '2024-01-25',
    input: ['text'],
    contextLength: 8_192,
    endpoints: [
      { provider: 'openai', upstreamModel: id, priced: id, capabilities: OPENAI_EMBEDDINGS },
      { provider: 'azure', upstreamModel: id, priced: id, capabilities: OPENAI_EMBEDDINGS },
    ],
  })),
  embedding('google/gemini-embedding-001', 'Gemini Embedding 001', 'google-ai-studio', 2_048, {
    released: '2025-07-14',
  }),
  embedding('google/gemini-embedding-2', 'Gemini Embedding 2', 'google-ai-studio', 8_192, {
    input: ['text', 'image', 'audio', 'video', 'file'],
  }),
  embedding('mistralai/mistral-embed', 'Mistral Embed', 'mistral', 8_192, {
    released: '2023-12-11',
    capabilities: ONE_SIZE,
  }),
  embedding('cohere/embed-v4.0', 'Embed 4', 'cohere', 128_000, {
    released: '2025-04-15',
    input: SEES,
    capabilities: COHERE_EMBEDDINGS,
  }),
  ...['voyage-4-large', 'voyage-4', 'voyage-4-lite', 'voyage-code-3', 'voyage-law-2', 'voyage-finance-2'].map((id) =>
    embedding(
      `voyageai/${id}`,
      id.replace(/(^|-)[a-z]/g, (start) => start.replace('-', ' ').toUpperCase()),
      'voyageai',
      id === 'voyage-law-2' ? 16_000 : 32_000,
      { capabilities: voyageEmbeddings(id) },
    ),
  ),
  {
    slug: 'amazon/titan-embed-text-v2',
    name: 'Titan Text Embeddings V2',
    api: 'embeddings',
    released: '2024-04-30',
    input: ['text'],
    contextLength: 8_192,
    endpoints: [
      {
        provider: 'amazon-bedrock',
        upstreamModel: 'amazon.titan-embed-text-v2:0',
        pricing: { prompt: '0.00000002' },
      },
    ],
  },
  {
    slug: 'baai/bge-m3',
    name: 'BGE-M3',
    api: 'embeddings',
    released: '2024-01-30',
    input: ['text'],
    contextLength: 8_192,
    endpoints: [{ provider: 'ovhcloud', upstreamModel: 'bge-m3', priced: 'bge-m3', capabilities: ONE_SIZE }],
  },
  {
    slug: 'qwen/qwen3-embedding-8b',
    name: 'Qwen3 Embedding 8B',
    api: 'embeddings',
    released: '2025-06-05',
    input: ['text'],
    contextLength: 32_768,
    endpoints: [
      { provider: 'doubleword', upstreamModel: 'Qwen/Qwen3-Embedding-8B', priced: 'Qwen/Qwen3-Embedding-8B' },
    ],
  },
];

const WHISPER = { transcription: { verbose_json: true } };
const FULL = { transcription: { diarize: true, keyterms: true, verbose_json: true } };

const TRANSCRIPTION: readonly MediaFacts[] = [
  transcription('openai/gpt-transcribe', 'GPT Transcribe', [
    { provider: 'openai', upstreamModel: 'gpt-transcribe', priced: 'gpt-transcribe' },
  ]),
  transcription('openai/gpt-4o-transcribe', 'GPT-4o Transcribe', [
    { provider: 'openai', upstreamModel: 'gpt-4o-transcribe', priced: 'gpt-4o-transcribe' },
    { provider: 'azure', upstreamModel: 'gpt-4o-transcribe', priced: 'gpt-4o-transcribe@openai' },
  ]),
  transcription('openai/gpt-4o-mini-transcribe', 'GPT-4o mini Transcribe', [
    { provider: 'openai', upstreamModel: 'gpt-4o-mini-transcribe', priced: 'gpt-4o-mini-transcribe' },
    { provider: 'azure', upstreamModel: 'gpt-4o-mini-transcribe', priced: 'gpt-4o-mini-transcribe@openai' },
  ]),
  transcription('openai/whisper-1', 'Whisper', [
    { provider: 'openai', upstreamModel: 'whisper-1', priced: 'whisper-1', capabilities: WHISPER },
    { provider: 'azure', upstreamModel: 'whisper', perMinute: '0.006', capabilities: WHISPER },
  ]),
  transcription('openai/whisper-large-v3', 'Whisper Large V3', [
    { provider: 'groq', upstreamModel: 'whisper-large-v3', priced: 'whisper-large-v3', capabilities: WHISPER },
    { provider: 'together', upstreamModel: 'openai/whisper-large-v3', perMinute: '0.0015', capabilities: WHISPER },
    { provider: 'deepinfra', upstreamModel: 'openai/whisper-large-v3', perMinute: '0.00045', capabilities: WHISPER },
  ]),
  transcription('openai/whisper-large-v3-turbo', 'Whisper Large V3 Turbo', [
    {
      provider: 'groq',
      upstreamModel: 'whisper-large-v3-turbo',
      priced: 'whisper-large-v3-turbo',
      capabilities: WHISPER,
    },
    {
      provider: 'deepinfra',
      upstreamModel: 'openai/whisper-large-v3-turbo',
      perMinute: '0.0002',
      capabilities: WHISPER,
    },
  ]),
  transcription('mistralai/voxtral-mini-2602', 'Voxtral Mini Transcribe 2', [
    { provider: 'mistral', upstreamModel: 'voxtral-mini-2602', priced: 'voxtral-mini-2602', capabilities: FULL },
  ]),
  transcription('deepgram/nova-3', 'Nova 3', [
    { provider: 'deepgram', upstreamModel: 'nova-3', perMinute: '0.0043', capabilities: FULL },
  ]),
  transcription('elevenlabs/scribe-v2', 'Scribe v2', [
    { provider: 'elevenlabs', upstreamModel: 'scribe_v2', perHour: '0.4', capabilities: FULL },
  ]),
  transcription('assemblyai/universal-3-pro', 'Universal 3 Pro', [
    { provider: 'assemblyai', upstreamModel: 'universal-3-pro', perHour: '0.21', capabilities: FULL },
  ]),
  transcription('assemblyai/universal-2', 'Universal 2', [
    { provider: 'assemblyai', upstreamModel: 'universal-2', perHour: '0.15', capabilities: FULL },
  ]),
  transcription('gladia/solaria-1', 'Solaria 1', [
    { provider: 'gladia', upstreamModel: 'solaria-1', perHour: '0.61', capabilities: FULL },
  ]),
  transcription('revai/reverb', 'Reverb', [
    { provider: 'revai', upstreamModel: 'machine', perHour: '0.2', capabilities: FULL },
  ]),
];

const BOTH_FRAMES = ['first_frame', 'last_frame'];

const VIDEO: readonly MediaFacts[] = [
  veo('veo-3.1-generate-preview', 'Veo 3.1', { '720p': '0.4', '1080p': '0.4', '4k': '0.6' }, true),
  veo('veo-3.1-fast-generate-preview', 'Veo 3.1 Fast', { '720p': '0.1', '1080p': '0.12', '4k': '0.3' }, true),
  veo('veo-3.1-lite-generate-preview', 'Veo 3.1 Lite', { '720p': '0.05', '1080p': '0.08' }, false),
  video('runway/gen4-turbo', 'Gen-4 Turbo', ['image'], '2025-04-01', {
    provider: 'runway',
    upstreamModel: 'gen4_turbo',
    pricing: { video_second: '0.05' },
    capabilities: capabilities([5, 10], ['720p'], ['16:9', '9:16', '4:3', '3:4', '1:1', '21:9'], {
      frame_images: ['first_frame'],
      seed: true,
    }),
  }),
  video('minimax/hailuo-2.3', 'Hailuo 2.3', SEES, '2025-10-28', {
    provider: 'minimax/video',
    upstreamModel: 'MiniMax-Hailuo-2.3',
    pricing: { video: '0.28' },
    capabilities: capabilities([6], ['768p'], ['16:9'], { frame_images: ['first_frame'] }),
  }),
  video('bytedance/seedance-1-0-pro', 'Seedance 1.0 Pro', SEES, '2025-06-11', {
    provider: 'byteplus',
    upstreamModel: 'seedance-1-0-pro-250528',
    pricing: { completion: '0.0000025' },
    capabilities: capabilities([5, 10], ['480p', '720p', '1080p'], ['16:9', '9:16', '4:3', '3:4', '1:1', '21:9'], {
      frame_images: BOTH_FRAMES,
      seed: true,
    }),
  }),
  {
    slug: 'kwaivgi/kling-v2.5-turbo-pro',
    name: 'Kling 2.5 Turbo Pro',
    api: 'video',
    released: '2025-09-23',
    input: ['text'],
    endpoints: [
      ['fal', 'fal-ai/kling-video/v2.5-turbo/pro/text-to-video'],
      ['replicate', 'kwaivgi/kling-v2.5-turbo-pro'],
    ].map(([provider = '', upstreamModel = '']) => ({
      provider,
      upstreamModel,
      pricing: { video_second: '0.07' },
      capabilities: capabilities([5, 10], ['1080p'], ['16:9', '9:16', '1:1']),
    })),
  },
  video('alibaba/wan-2.5-preview', 'Wan 2.5 Preview', ['text'], '2025-09-24', {
    provider: 'fal',
    upstreamModel: 'fal-ai/wan-25-preview/text-to-video',
    pricing: { video_second_480p: '0.05', video_second_720p: '0.1', video_second_1080p: '0.15' },
    capabilities: capabilities([5, 10], ['480p', '720p', '1080p'], ['16:9', '9:16', '1:1'], {
      generate_audio: true,
      seed: true,
    }),
  }),
];

export const MEDIA_MODELS: readonly MediaFacts[] = [...EMBEDDINGS, ...TRANSCRIPTION, ...VIDEO];

function embedding(
  slug: string,
  name: string,
  provider: string,
  contextLength: number,
  {
    capabilities,
    ...more
  }: { released?: string; input?: readonly string[]; capabilities?: Readonly<Record<string, unknown>> } = {},
): MediaFacts {
  const id = slug.slice(slug.indexOf('/') + 1);
  const endpoints = [{ provider, upstreamModel: id, priced: id, ...(capabilities && { capabilities }) }];
  return { slug, name, api: 'embeddings', input: ['text'], contextLength, endpoints, ...more };
}

function transcription(slug: string, name: string, endpoints: MediaFacts['endpoints']): MediaFacts {
  return { slug, name, api: 'transcription', input: ['audio'], endpoints };
}

function video(
  slug: string,
  name: string,
  input: readonly string[],
  released: string,
  endpoint: MediaFacts['endpoints'][number],
): MediaFacts {
  return { slug, name, api: 'video', input, released, endpoints: [endpoint] };
}

/** The same model at both of Google's APIs; Vertex AI names its release, and goes on from no earlier video here. */
function veo(id: string, name: string, perSecond: Readonly<Record<string, string>>, continues: boolean): MediaFacts {
  const frames = { generate_audio: true, frame_images: BOTH_FRAMES, seed: true };
  const at = (sizes: readonly string[], more: Readonly<Record<string, unknown>>) => ({
    pricing: Object.fromEntries(sizes.map((size) => [`video_second_${size}`, perSecond[size]!])),
    capabilities: capabilities(
      [4, 6, 8],
      sizes.map((size) => size.replace('k', 'K')),
      ['16:9', '9:16'],
      more,
    ),
  });
  const atGemini = at(Object.keys(perSecond), { ...frames, continuation: continues });
  const atVertex = at(['720p', '1080p'], frames);
  return {
    slug: `google/${id}`,
    name,
    api: 'video',
    input: SEES,
    released: id.includes('lite') ? '2026-03-31' : '2025-10-15',
    endpoints: [
      { provider: 'google-ai-studio', upstreamModel: id, ...atGemini },
      { provider: 'google-vertex/us-central1', upstreamModel: id.replace('preview', '001'), ...atVertex },
    ],
  };
}

function capabilities(
  durations: readonly number[],
  resolutions: readonly string[],
  ratios: readonly string[],
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const usual = { generate_audio: false, frame_images: [], continuation: false };
  return { video: { durations, resolutions, aspect_ratios: ratios, ...usual, ...more } };
}

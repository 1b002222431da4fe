import type { ChatFacts } from './fact-types';

const SEES = ['text', 'image'];
const READS = ['text', 'image', 'file'];
const GEMINI = ['text', 'image', 'file', 'audio', 'video'];

/** Whose thinking can be switched on and off. */
const MISTRAL_THINKERS: readonly string[] = ['mistral-medium-3-5', 'mistral-small-2603'];
const SONAR_THINKERS: readonly string[] = ['sonar-reasoning-pro', 'sonar-deep-research'];

/** What those that decide themselves how long they think are not to be told. */
const CLAUDE_TRAITS: Readonly<Record<string, object>> = {
  'opus-4.6': { thinking: 'adaptive', efforts: ['low', 'medium', 'high', 'max'] },
  'sonnet-4.6': { thinking: 'adaptive', efforts: ['low', 'medium', 'high', 'max'] },
  'fable-5.1': { thinking: 'always' },
  'opus-5.5': { thinking: 'always', tool_choice: false },
};

/** Models that their makers serve themselves or through the large clouds. */
export const CHAT_MODELS: readonly ChatFacts[] = [
  gpt('gpt-6-astra', 'GPT-6 Astra'),
  gpt('gpt-6-sol', 'GPT-6 Sol'),
  gpt('gpt-6-luna', 'GPT-6 Luna'),
  gpt('gpt-5.6-sol', 'GPT-5.6 Sol', undefined, ['amazon-bedrock global.openai.gpt-5.6-sol']),
  gpt('gpt-5.6-terra', 'GPT-5.6 Terra', undefined, ['amazon-bedrock global.openai.gpt-5.6-terra']),
  gpt('gpt-5.6-luna', 'GPT-5.6 Luna', undefined, ['amazon-bedrock global.openai.gpt-5.6-luna']),
  gpt('gpt-5.5', 'GPT-5.5', '2026-04-23'),
  gpt('gpt-5.4', 'GPT-5.4', '2026-03-05'),
  gpt('gpt-5.4-mini', 'GPT-5.4 mini'),
  gpt('gpt-5.4-nano', 'GPT-5.4 nano'),
  gpt('gpt-5.2', 'GPT-5.2', '2025-12-11'),
  gpt('gpt-5.1', 'GPT-5.1', '2025-11-13'),
  gpt('gpt-5', 'GPT-5', '2025-08-07'),
  gpt('gpt-5-mini', 'GPT-5 mini', '2025-08-07'),
  gpt('gpt-5-nano', 'GPT-5 nano', '2025-08-07'),
  gpt('o3', 'o3', '2025-04-16'),
  gpt('o4-mini', 'o4-mini', '2025-04-16'),
  ...['gpt-5.5-pro', 'gpt-5.4-pro', 'gpt-5.2-pro', 'gpt-5-pro', 'gpt-5.3-codex', 'o3-pro'].map((id) => ({
    slug: `openai/${id}`,
    name: id.replace('gpt-', 'GPT-').replace('-pro', ' Pro').replace('-codex', ' Codex'),
    family: 'gpt-reasoning',
    input: READS,
    maxCompletionTokens: id === 'o3-pro' ? 100_000 : 128_000,
    apis: ['responses'],
    endpoints: [`openai ${id}`],
  })),
  ...(
    [
      ['gpt-4.1', 'GPT-4.1', 32_768],
      ['gpt-4.1-mini', 'GPT-4.1 mini', 32_768],
      ['gpt-4.1-nano', 'GPT-4.1 nano', 32_768],
      ['gpt-4o', 'GPT-4o', 16_384],
      ['gpt-4o-mini', 'GPT-4o mini', 16_384],
    ] as const
  ).map(([id, name, maxCompletionTokens]) => ({
    slug: `openai/${id}`,
    name,
    released: { 'gpt-4o': '2024-05-13', 'gpt-4o-mini': '2024-07-18' }[id as string] ?? '2025-04-14',
    family: 'gpt',
    input: READS,
    maxCompletionTokens,
    endpoints: [`openai ${id}`, `azure ${id}@openai`],
  })),
  ...['gpt-audio', 'gpt-audio-mini'].map((id) => ({
    slug: `openai/${id}`,
    name: id === 'gpt-audio' ? 'GPT Audio' : 'GPT Audio mini',
    family: 'gpt',
    input: ['text', 'audio'],
    output: ['text', 'audio'],
    maxCompletionTokens: 16_384,
    apis: ['chat'],
    endpoints: [`openai ${id}`],
  })),
  claude('fable-5.1', 'Claude Fable 5.1', 128_000, 'fable-5-1'),
  claude('opus-5.5', 'Claude Opus 5.5', 128_000, 'opus-5-5'),
  claude('opus-5', 'Claude Opus 5', 128_000, 'opus-5'),
  claude('opus-4.8', 'Claude Opus 4.8', 128_000),
  claude('opus-4.7', 'Claude Opus 4.7', 128_000),
  claude('opus-4.6', 'Claude Opus 4.6', 128_000, 'opus-4-6-v1:0', 'opus-4-6-v1', '2026-02-05'),
  claude('opus-4.5', 'Claude Opus 4.5', 64_000, 'opus-4-5-v1:0', 'opus-4-5-20251101-v1:0', '2025-11-24'),
  claude('sonnet-5', 'Claude Sonnet 5', 128_000),
  claude('sonnet-4.6', 'Claude Sonnet 4.6', 64_000, 'sonnet-4-6-v1:0', 'sonnet-4-6', '2026-02-17'),
  claude('sonnet-4.5', 'Claude Sonnet 4.5', 64_000, 'sonnet-4-5-20250929-v1:0', undefined, '2025-09-29'),
  claude('haiku-4.5', 'Claude Haiku 4.5', 64_000, 'haiku-4-5-20251001-v1:0', undefined, '2025-10-15'),
  gemini('gemini-3.8-flash', 'Gemini 3.8 Flash'),
  gemini('gemini-3.7-flash', 'Gemini 3.7 Flash'),
  gemini('gemini-3.6-flash', 'Gemini 3.6 Flash'),
  gemini('gemini-3.5-flash', 'Gemini 3.5 Flash'),
  gemini('gemini-3.5-flash-lite', 'Gemini 3.5 Flash Lite'),
  gemini('gemini-3.1-pro-preview', 'Gemini 3.1 Pro Preview', '2026-02-19'),
  gemini('gemini-3.1-flash-lite', 'Gemini 3.1 Flash Lite'),
  gemini('gemini-2.5-pro', 'Gemini 2.5 Pro', '2025-06-17'),
  gemini('gemini-2.5-flash', 'Gemini 2.5 Flash', '2025-06-17'),
  gemini('gemini-2.5-flash-lite', 'Gemini 2.5 Flash Lite', '2025-07-22'),
  ...(
    [
      ['grok-4.6', 'Grok 4.6', '2026-08-12', SEES],
      ['grok-4.5', 'Grok 4.5', undefined, SEES],
      ['grok-4.3', 'Grok 4.3', undefined, SEES],
      ['grok-4.20', 'Grok 4.20', undefined, SEES],
      ['grok-build-0.1', 'Grok Build 0.1', undefined, ['text']],
      ['grok-code-fast-1', 'Grok Code Fast 1', '2025-08-28', ['text']],
    ] as const
  ).map(([id, name, released, input]) => ({
    slug: `x-ai/${id}`,
    name,
    released,
    family: 'grok',
    input,
    endpoints: [`xai ${id}`],
  })),
  ...(
    [
      ['mistral-large-2512', 'Mistral Large 3', '2025-12-02', SEES],
      ['mistral-medium-3-5', 'Mistral Medium 3.5', undefined, SEES],
      ['mistral-small-2603', 'Mistral Small 4', '2026-03-16', SEES],
      ['ministral-14b-2512', 'Ministral 3 14B', '2025-12-02', SEES],
      ['ministral-8b-2512', 'Ministral 3 8B', '2025-12-02', SEES],
      ['ministral-3b-2512', 'Ministral 3 3B', '2025-12-02', SEES],
      ['codestral-2508', 'Codestral 2508', '2025-07-30', ['text']],
      ['devstral-2512', 'Devstral 2', '2025-12-09', ['text']],
      ['voxtral-small-24b-2507', 'Voxtral Small 24B', '2025-07-15', ['text', 'audio']],
    ] as const
  ).map(([id, name, released, input]) => ({
    slug: `mistralai/${id}`,
    name,
    released,
    input,
    ...(MISTRAL_THINKERS.includes(id)
      ? { family: 'mistral-reasoning', capabilities: { chat: { reasoning_efforts: ['none', 'high'] } } }
      : { family: 'mistral' }),
    endpoints: [
      `mistral ${id}`,
      ...(id === 'mistral-large-2512' ? ['amazon-bedrock mistral.mistral-large-3-675b-instruct'] : []),
      ...(id === 'devstral-2512' ? ['doubleword mistralai/Devstral-2-123B-Instruct-2512'] : []),
    ],
  })),
  ...(
    [
      ['command-a', 'Command A', '2025-03-13', 256_000, 'command-a-03-2025', 8_000],
      ['command-r-plus', 'Command R+', '2024-08-30', 128_000, 'command-r-plus-08-2024', 4_000],
      ['command-r', 'Command R', '2024-08-30', 128_000, 'command-r-08-2024', 4_000],
      ['command-r7b', 'Command R7B', '2024-12-13', 128_000, 'command-r7b-12-2024', 4_000],
    ] as const
  ).map(([id, name, released, contextLength, upstream, maxCompletionTokens]) => ({
    slug: `cohere/${upstream}`,
    name,
    released,
    ...(upstream.endsWith('-08-2024')
      ? { family: 'cohere-2024', capabilities: { chat: { tool_choice: false } } }
      : { family: 'cohere' }),
    contextLength,
    maxCompletionTokens,
    endpoints: [`cohere ${id} ${upstream}`],
  })),
  ...(
    [
      ['sonar', 'Sonar', '2025-01-27'],
      ['sonar-pro', 'Sonar Pro', '2025-03-07'],
      ['sonar-reasoning-pro', 'Sonar Reasoning Pro', '2025-03-07'],
      ['sonar-deep-research', 'Sonar Deep Research', '2025-03-07'],
    ] as const
  ).map(([id, name, released]) => ({
    slug: `perplexity/${id}`,
    name,
    released,
    family: SONAR_THINKERS.includes(id) ? 'sonar-reasoning' : 'sonar',
    input: id === 'sonar-deep-research' ? ['text'] : SEES,
    endpoints: [`perplexity ${id}`],
  })),
  ...(
    [
      [
        'nova-2-lite-v1',
        'Nova 2 Lite',
        '2025-12-02',
        GEMINI.filter((kind) => kind !== 'audio'),
        'global.amazon.nova-2-lite-v1:0',
        65_536,
      ],
      ['nova-premier-v1', 'Nova Premier', '2025-04-30', ['text', 'image', 'video'], 'amazon.nova-premier-v1:0', 32_000],
      ['nova-pro-v1', 'Nova Pro', '2024-12-03', ['text', 'image', 'video'], 'amazon.nova-pro-v1:0', 10_000],
      ['nova-lite-v1', 'Nova Lite', '2024-12-03', ['text', 'image', 'video'], 'amazon.nova-lite-v1:0', 10_000],
      ['nova-micro-v1', 'Nova Micro', '2024-12-03', ['text'], 'amazon.nova-micro-v1:0', 10_000],
    ] as const
  ).map(([id, name, released, input, upstream, maxCompletionTokens]) => ({
    slug: `amazon/${id}`,
    name,
    released,
    family: id === 'nova-2-lite-v1' ? 'nova-reasoning' : 'nova',
    input,
    maxCompletionTokens,
    endpoints: [`amazon-bedrock ${upstream}`],
  })),
  {
    slug: 'inception/mercury-2',
    name: 'Mercury 2',
    family: 'open-reasoning',
    endpoints: ['inception inception/mercury-2 mercury-2'],
  },
  {
    slug: 'ai21/jamba-large-1.7',
    name: 'Jamba Large 1.7',
    family: 'open',
    contextLength: 256_000,
    endpoints: ['ai21 ai21/jamba-large-1.7 jamba-large-1.7'],
  },
  {
    slug: 'upstage/solar-pro-3',
    name: 'Solar Pro 3',
    family: 'open-reasoning',
    endpoints: ['upstage upstage/solar-pro-3 solar-pro3'],
  },
  {
    slug: 'morph/morph-v3-large',
    name: 'Morph V3 Large',
    family: 'plain',
    endpoints: ['morph morph/morph-v3-large morph-v3-large'],
  },
  {
    slug: 'morph/morph-v3-fast',
    name: 'Morph V3 Fast',
    family: 'plain',
    endpoints: ['morph morph/morph-v3-fast morph-v3-fast'],
  },
];

function gpt(id: string, name: string, released?: string, further: readonly string[] = []): ChatFacts {
  const maxCompletionTokens = id.startsWith('o') ? 100_000 : 128_000;
  const onAzure = /^(o|gpt-5(\.[1-5])?(-|$))/.test(id) ? [`azure ${id}@openai`] : [];
  const endpoints = [`openai ${id}`, ...onAzure, ...further];
  return {
    slug: `openai/${id}`,
    name,
    released,
    family: 'gpt-reasoning',
    input: READS,
    maxCompletionTokens,
    endpoints,
  };
}

function claude(
  version: string,
  name: string,
  maxCompletionTokens: number,
  bedrockId?: string,
  bedrockName = bedrockId,
  released?: string,
): ChatFacts {
  const id = `claude-${version.replace('.', '-')}`;
  const bedrock = bedrockId?.startsWith('fable') ? `${bedrockId}-v1:0` : bedrockId;
  const onBedrock = bedrock
    ? [`amazon-bedrock global.anthropic.claude-${bedrock} global.anthropic.claude-${bedrockName}`]
    : [];
  const endpoints = [`anthropic ${id}`, ...onBedrock];
  const generation = Number(version.replace(/^[a-z]+-/, ''));
  return {
    slug: `anthropic/claude-${version}`,
    name,
    released,
    family: generation > 4.6 ? 'claude-unsampled' : 'claude',
    input: READS,
    maxCompletionTokens,
    endpoints,
    // Later ones decide themselves how long they think and refuse to be told a number of tokens.
    ...(generation > 4.5 && { capabilities: { messages: CLAUDE_TRAITS[version] ?? { thinking: 'adaptive' } } }),
  };
}

function gemini(id: string, name: string, released?: string): ChatFacts {
  return {
    slug: `google/${id}`,
    name,
    released,
    family: 'gemini',
    input: GEMINI,
    contextLength: 1_048_576,
    maxCompletionTokens: 65_536,
    endpoints: [`google-ai-studio ${id}`, `google-vertex ${id}`],
  };
}

import type { Charge } from '../../../tools/sandbox-provider/src/reports/charge';

/** Calls of two providers with made-up prices, reckoned without any code of the product. */

export const PROVIDERS = ['makero', 'makera'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

export const DAYS = Array.from({ length: 10 }, (_, index) => `2026-11-${11 + index}`);
export const MODELS = ['one', 'two', 'three', 'four', 'five'];
export const CALLS_OF_GROUP = 1_000;

export interface BilledCall {
  readonly uncached: number;
  readonly cached: number;
  readonly write5m: number;
  readonly write1h: number;
  readonly output: number;
  readonly tier: 'default' | 'priority';
  readonly isLong: boolean;
}

type Rates = Readonly<Record<'uncached' | 'cached' | 'write5m' | 'write1h' | 'output', bigint>>;

/** Pico-dollars per token. */
const OPENAI: Rates = { uncached: 2_000_000n, cached: 500_000n, write5m: 0n, write1h: 0n, output: 8_000_000n };
const ANTHROPIC: Rates = {
  uncached: 3_000_000n,
  cached: 300_000n,
  write5m: 3_750_000n,
  write1h: 6_000_000n,
  output: 15_000_000n,
};
const NAMES = ['uncached', 'cached', 'write5m', 'write1h', 'output'] as const;
const PICO = 1_000_000_000_000n;

export function modelOf(provider: ProviderName, name: string): string {
  return `${provider}-${name}`;
}

/** The call number so-and-so of any day and model: a mix of tiers, caches and long prompts. */
export function callOf(provider: ProviderName, index: number): BilledCall {
  const cached = index % 3 === 0 ? 100 : 0;
  if (provider === 'makero') {
    const tier = index % 20 === 0 ? 'priority' : 'default';
    const uncached = 500 + ((index * 7) % 300) - cached;
    return { uncached, cached, write5m: 0, write1h: 0, output: 50 + ((index * 11) % 90), tier, isLong: false };
  }
  const isLong = index % 100 === 7;
  const write1h = index % 25 === 0 ? 100 : 0;
  const write5m = index % 5 === 0 ? 200 : 0;
  const prompt = (isLong ? 200_000 : 800) + ((index * 13) % 500);
  const uncached = prompt - cached - write5m - write1h;
  return { uncached, cached, write5m, write1h, output: 40 + ((index * 5) % 70), tier: 'default', isLong };
}

/** Pico-dollars by class of tokens. */
export function pricesOf(provider: ProviderName, call: BilledCall, isBatch = false): Record<keyof Rates, bigint> {
  const rates = provider === 'makero' ? OPENAI : ANTHROPIC;
  const factor = call.tier === 'priority' || call.isLong ? 2n : 1n;
  return Object.fromEntries(
    NAMES.map((name) => [name, (BigInt(call[name]) * rates[name] * factor) / (isBatch ? 2n : 1n)]),
  ) as Record<keyof Rates, bigint>;
}

export function costOf(provider: ProviderName, call: BilledCall): string {
  return usdOf(Object.values(pricesOf(provider, call)).reduce((sum, price) => sum + price, 0n));
}

export function usdOf(picoUsd: bigint): string {
  return `${picoUsd / PICO}.${(picoUsd % PICO).toString().padStart(12, '0')}`;
}

/** What the sandbox is to report of a call. */
export function chargeOf(
  provider: ProviderName,
  day: string,
  model: string,
  call: BilledCall,
  isBatch = false,
): Charge {
  const { uncached, cached, write5m, write1h, output } = pricesOf(provider, call, isBatch);
  return {
    form: provider === 'makero' ? 'openai' : 'anthropic',
    isEmbedding: false,
    day,
    model: modelOf(provider, model),
    tier: call.tier,
    isLong: call.isLong,
    isBatch,
    counts: {
      requests: 1,
      uncached_input_tokens: call.uncached,
      cache_read_input_tokens: call.cached,
      cache_write_5m_tokens: call.write5m,
      cache_write_1h_tokens: call.write1h,
      output_tokens: call.output,
    },
    amounts: {
      uncached_input_tokens: uncached,
      cache_read_input_tokens: cached,
      cache_write_5m_tokens: write5m,
      cache_write_1h_tokens: write1h,
      output_tokens: output,
    },
  };
}

/** The catalogue of both, as the text of a file. */
export function catalogueText(baseUrl: string): string {
  const provider = (slug: ProviderName): object => ({
    slug,
    name: slug,
    base_url: `${baseUrl}/v1`,
    protocol: slug === 'makero' ? 'openai' : 'anthropic',
    api_key_env: 'MAKER_KEY',
    headers: {},
    regions: ['global'],
    data_policy: { retains_prompts: false, trains_on_prompts: false, zdr: true },
    batch: 'native',
    max_concurrency: 8,
  });
  return JSON.stringify({
    providers: PROVIDERS.map(provider),
    models: PROVIDERS.flatMap((slug) => MODELS.map((name) => modelEntry(slug, name))),
  });
}

function modelEntry(provider: ProviderName, name: string): object {
  const endpoint = (factor: bigint, capabilities: object): object => ({
    provider,
    upstream_model: modelOf(provider, name),
    apis: [provider === 'makero' ? 'chat' : 'messages'],
    pricing: { ...listOf(provider, factor), ...(provider === 'makera' && { web_search: '0.01', overrides: [LONG] }) },
    batch_pricing: { ...listOf(provider, factor, 2n), ...(provider === 'makera' && { overrides: [LONG_BATCH] }) },
    context_length: 1_000_000,
    max_completion_tokens: 10_000,
    quantization: 'unknown',
    region: 'global',
    zdr: true,
    capabilities,
  });
  return {
    slug: `${provider}/${name}`,
    name,
    description: 'A model',
    created: 1_760_000_000,
    context_length: 1_000_000,
    architecture: { input_modalities: ['text'], output_modalities: ['text'], tokenizer: 'Other', instruct_type: null },
    supported_parameters: ['max_tokens'],
    endpoints: [endpoint(1n, {}), ...(provider === 'makero' ? [endpoint(2n, { service_tier: 'priority' })] : [])],
  };
}

const LONG = { min_prompt_tokens: 200_000, ...listOf('makera', 2n) };
const LONG_BATCH = { min_prompt_tokens: 200_000, ...listOf('makera', 2n, 2n) };

function listOf(provider: ProviderName, factor: bigint, divisor = 1n): Record<string, string> {
  const rates = provider === 'makero' ? OPENAI : ANTHROPIC;
  const text = (rate: bigint): string => `0.${((rate * factor) / divisor).toString().padStart(12, '0')}`;
  return {
    prompt: text(rates.uncached),
    completion: text(rates.output),
    input_cache_read: text(rates.cached),
    ...(provider === 'makera' && { input_cache_write: text(rates.write5m), input_cache_write_1h: text(rates.write1h) }),
  };
}

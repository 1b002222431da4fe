import { parseCatalogue, parseUsd } from '@libs/inference';
import type { RecordedUsage, ReportedCost, ReportedUsage, UnpaidWork } from '../charge-facts';
import { PriceBook } from '../price-book';
import { NO_TOKENS } from '../token-counts';

export const DAY = '2026-11-20';
export const MODEL = 'large-1';

const endpoint = (pricing: object, capabilities: object = {}): object => ({
  provider: 'maker',
  upstream_model: MODEL,
  apis: ['chat'],
  pricing,
  tool_pricing: {
    file_search: '0.0025',
    mcp: '0',
    code_interpreter: Object.keys(capabilities).length > 0 ? '0.05' : '0.03',
  },
  batch_pricing: { prompt: '0.000001', completion: '0.000005' },
  context_length: 1_000_000,
  max_completion_tokens: 1_000,
  quantization: 'unknown',
  region: 'global',
  zdr: true,
  capabilities,
});

/** 2 USD per million tokens in, 10 out; 4 and 20 in tier priority, half in flex, and from 200,000 tokens on, for long prompts. */
export function bookOfSpec(): PriceBook {
  const standard = {
    prompt: '0.000002',
    completion: '0.00001',
    input_cache_read: '0.0000002',
    input_cache_write: '0.0000025',
    input_cache_write_1h: '0.000004',
    web_search: '0.01',
    overrides: [{ min_prompt_tokens: 200_000, prompt: '0.000004', completion: '0.00002' }],
  };
  const priority = { prompt: '0.000004', completion: '0.00002' };
  const flex = { prompt: '0.000001', completion: '0.000005' };
  const file = {
    providers: [
      {
        slug: 'maker',
        name: 'Maker',
        base_url: 'http://127.0.0.1:1/v1',
        protocol: 'openai',
        api_key_env: 'MAKER_KEY',
        headers: {},
        regions: ['global'],
        data_policy: { retains_prompts: false, trains_on_prompts: false, zdr: true },
        batch: 'native',
        max_concurrency: 8,
      },
    ],
    models: [
      {
        slug: 'maker/large',
        name: 'Large',
        description: 'A model',
        created: 1_760_000_000,
        context_length: 1_000_000,
        architecture: {
          input_modalities: ['text'],
          output_modalities: ['text'],
          tokenizer: 'Other',
          instruct_type: null,
        },
        supported_parameters: ['max_tokens'],
        endpoints: [
          endpoint(standard),
          endpoint(priority, { service_tier: 'priority' }),
          endpoint(flex, { service_tier: 'flex' }),
        ],
      },
    ],
  };
  return new PriceBook(parseCatalogue([{ name: 'spec.yaml', text: JSON.stringify(file) }]), 'maker');
}

/** 100 requests with a million tokens in and 100,000 out: 3 USD. */
export function recordedUsage(values: Partial<RecordedUsage> = {}): RecordedUsage {
  return {
    day: DAY,
    model: MODEL,
    tier: 'standard',
    isLong: false,
    isBatch: false,
    requests: 100n,
    estimated: 0n,
    tokens: { ...NO_TOKENS, uncached: 1_000_000n, output: 100_000n },
    longestPrompt: 20_000n,
    longestOutput: 2_000n,
    cost: parseUsd('3'),
    toolCost: 0n,
    ...values,
  };
}

export function reportedUsage(values: Partial<ReportedUsage> = {}): ReportedUsage {
  const { day, model, tier, isLong, isBatch, requests, tokens } = recordedUsage();
  return { day, model, key: 'key_1', tier, isLong, isBatch, requests, tokens, ...values };
}

export function reportedCost(usd: string, values: Partial<ReportedCost> = {}): ReportedCost {
  return {
    day: DAY,
    model: MODEL,
    item: 'large-1',
    tokenClass: null,
    key: null,
    tool: null,
    amount: parseUsd(usd),
    ...values,
  };
}

export function unpaidWork(values: Partial<UnpaidWork> = {}): UnpaidWork {
  return { day: DAY, model: MODEL, failedAttempts: 0n, abandonedCalls: 0n, orphanRequests: 0n, ...values };
}

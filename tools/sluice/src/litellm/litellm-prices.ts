import type { Api } from '@libs/inference';
import type { JsonObject } from '@libs/json';

/** LiteLLM's costs, with their names in a catalogue. */
const MEMBERS: Readonly<Record<string, string>> = {
  input_cost_per_token: 'prompt',
  output_cost_per_token: 'completion',
  cache_read_input_token_cost: 'input_cache_read',
  cache_creation_input_token_cost: 'input_cache_write',
  cache_creation_input_token_cost_above_1hr: 'input_cache_write_1h',
  input_cost_per_audio_token: 'audio',
  output_cost_per_audio_token: 'audio_output',
  output_cost_per_reasoning_token: 'internal_reasoning',
  input_cost_per_image: 'image',
  input_cost_per_second: 'audio_second',
};

export const COST_MEMBERS: readonly string[] = Object.keys(MEMBERS);

const NEEDED: Readonly<Partial<Record<Api, readonly string[]>>> = {
  embeddings: ['prompt'],
  transcription: ['audio_second'],
};
const TOKENS = ['prompt', 'completion'];

export interface StatedPrices {
  readonly pricing: Readonly<Record<string, string>>;
  /** Members whose value is no price. */
  readonly unreadable: readonly string[];
}

/** The prices of a deployment; without any, its `pricing` is empty. */
export function statedPrices(sources: readonly JsonObject[]): StatedPrices {
  const pricing: Record<string, string> = {};
  const unreadable: string[] = [];
  for (const source of sources) {
    for (const [member, name] of Object.entries(MEMBERS)) {
      const value = source[member];
      if (value === undefined || value === null || Object.hasOwn(pricing, name)) continue;
      const price = decimalOf(value);
      if (price === null) unreadable.push(member);
      else pricing[name] = price;
    }
  }
  return { pricing, unreadable };
}

/** Returns the prices that endpoints with these APIs must have, each once. */
export function neededPrices(apis: readonly Api[]): readonly string[] {
  return [...new Set(apis.flatMap((api) => NEEDED[api] ?? TOKENS))];
}

const DECIMALS = 18;
/** Most digits before the point, as in a catalogue. */
const MOST_DIGITS = 18;
const NUMBER = /^(\d{1,20})(?:\.(\d{1,40}))?(?:e([+-]?\d{1,2}))?$/i;

/** Returns a number such as 1.5e-7 as a plain decimal, rounded half up at 18 decimals; null if it is not a price. */
export function decimalOf(value: unknown): string | null {
  const match = typeof value === 'number' || typeof value === 'string' ? NUMBER.exec(String(value).trim()) : null;
  if (!match) return null;
  const [, whole = '0', fraction = '', exponent = '0'] = match;
  const shift = Number(exponent) - fraction.length + DECIMALS;
  const digits = BigInt(whole + fraction);
  const scaled = shift >= 0 ? digits * 10n ** BigInt(shift) : half(digits, 10n ** BigInt(-shift));
  const text = scaled.toString().padStart(DECIMALS + 1, '0');
  if (text.length > MOST_DIGITS + DECIMALS) return null;
  return `${text.slice(0, -DECIMALS)}.${text.slice(-DECIMALS)}`.replace(/\.?0+$/, '') || '0';
}

function half(digits: bigint, divisor: bigint): bigint {
  return (digits + divisor / 2n) / divisor;
}

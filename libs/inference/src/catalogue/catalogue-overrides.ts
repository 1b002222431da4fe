import { formatRate, type Rate } from '../pricing/money';
import type { OverriddenRate, PriceOverride } from '../pricing/price';
import type { Located, Mapping } from './catalogue-document';
import type { Api } from './catalogue-entries';
import { readRate } from './catalogue-rates';
import type { ListedOverride } from './listed-prices';

const RATES: Readonly<Record<string, OverriddenRate>> = {
  prompt: 'prompt',
  completion: 'completion',
  audio: 'audio',
  input_audio_cache: 'inputAudioCache',
  input_cache_read: 'inputCacheRead',
  input_cache_write: 'inputCacheWrite',
  input_cache_write_1h: 'inputCacheWrite1h',
  image_token: 'imageToken',
};
const CONDITIONS = ['min_prompt_tokens', 'utc_start', 'utc_end'];
const TOKEN_APIS: readonly Api[] = ['chat', 'responses', 'messages', 'embeddings'];
const DAY_HOURS = 24;

/** Reads `pricing.overrides`: other rates for long prompts and for hours of the day. */
export function readOverrides(pricing: Mapping | null, apis: readonly Api[]): readonly PriceOverride[] {
  const place = pricing?.member('overrides');
  if (place === undefined || place.absent) return [];
  if (!apis.every((api) => TOKEN_APIS.includes(api))) {
    place.report(`are for ${TOKEN_APIS.join(', ')} only`);
    return [];
  }
  return place.optionalEntries().map(readOverride);
}

/** Overrides with each rate changed. */
export function mapOverrides(
  overrides: readonly PriceOverride[],
  change: (name: string, rate: Rate) => Rate | null,
): PriceOverride[] {
  return overrides.map((one) => {
    const rates = Object.entries(one.rates).map(([name, rate]) => [name, change(name, rate)] as const);
    return { ...one, rates: Object.fromEntries(rates.filter(([, rate]) => rate !== null)) };
  });
}

export function listOverrides(overrides: readonly PriceOverride[]): readonly ListedOverride[] {
  return overrides.map(({ minPromptTokens, utcStart, utcEnd, rates }) => ({
    ...(minPromptTokens !== undefined && { min_prompt_tokens: minPromptTokens }),
    ...(utcStart !== undefined && { utc_start: utcStart, utc_end: utcEnd }),
    ...Object.fromEntries(
      Object.entries(RATES).flatMap(([key, name]) =>
        rates[name] === undefined ? [] : [[key, formatRate(rates[name])]],
      ),
    ),
  }));
}

function readOverride(place: Located): PriceOverride {
  const entry = place.mapping([...CONDITIONS, ...Object.keys(RATES)]);
  if (entry === null) return { rates: {} };
  const rates: Partial<Record<OverriddenRate, Rate>> = {};
  for (const [key, name] of Object.entries(RATES)) {
    const member = entry.member(key);
    if (!member.absent) readRate(member, (rate) => (rates[name] = rate));
  }
  const tokens = entry.member('min_prompt_tokens');
  const minPromptTokens = readTokens(tokens);
  const hours = readHours(entry);
  if (tokens.absent && hours === null) place.report('needs min_prompt_tokens, or utc_start and utc_end');
  if (Object.keys(rates).length === 0) place.report('has no price');
  return { ...(minPromptTokens !== undefined && { minPromptTokens }), ...hours, rates };
}

function readTokens(member: Located): number | undefined {
  if (member.absent) return undefined;
  const { value } = member;
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number;
  member.report('must be an integer of at least 1');
  return undefined;
}

function readHours(entry: Mapping): { readonly utcStart: number; readonly utcEnd: number } | null {
  const [start, end] = [entry.member('utc_start'), entry.member('utc_end')];
  if (start.absent && end.absent) return null;
  const [utcStart, utcEnd] = [readHour(start), readHour(end)];
  if (utcStart === null || utcEnd === null) return { utcStart: 0, utcEnd: 0 };
  if (utcStart === utcEnd) end.report('must differ from utc_start');
  return { utcStart, utcEnd };
}

function readHour(member: Located): number | null {
  const { value } = member;
  if (typeof value === 'number' && value >= 0 && value <= DAY_HOURS) return value;
  member.report('must be an hour of the UTC day from 0 to 24, such as 16.5');
  return null;
}

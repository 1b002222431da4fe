import type { Fields } from './named-tools';
import type { DomainRules } from './web-domains';
import { SettingsReader } from './web-settings';

/** The page settings of a request. */
export interface FetchSettings {
  readonly domains: DomainRules;
  readonly maxUses: number | null;
  /** Longest text of one page. */
  readonly maxCharacters: number;
}

const DEFAULT_TOKENS = 25_000;
const MOST_TOKENS = 250_000;
const MOST_USES = 1_000;
const CHARACTERS_PER_TOKEN = 4;

/** @throws AppError invalid_request with the name of the field after `path` */
export function readFetchSettings(settings: Fields, path: string): FetchSettings {
  const reader = new SettingsReader(settings, path);
  const tokens = reader.int('max_content_tokens', { min: 1, max: 10_000_000 }) ?? DEFAULT_TOKENS;
  return {
    domains: reader.domains('allowed_domains', 'blocked_domains'),
    maxUses: reader.int('max_uses', { min: 1, max: MOST_USES }),
    maxCharacters: Math.min(tokens, MOST_TOKENS) * CHARACTERS_PER_TOKEN,
  };
}

import type { Fields } from './named-tools';
import type { DomainRules } from './web-domains';
import { SettingsReader } from './web-settings';

export const SEARCH_MODES = [
  'instant',
  'fast',
  'auto',
  'deep-lite',
  'deep',
  'deep-reasoning',
  'turbo',
  'basic',
  'advanced',
] as const;

export type SearchMode = (typeof SEARCH_MODES)[number];

/** Location of the user, as far as the request states it. */
export interface UserLocation {
  readonly city: string | null;
  readonly region: string | null;
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country: string | null;
}

/** How a request wants to search. */
export interface SearchSettings {
  /** Null: the installation chooses. */
  readonly engine: string | null;
  readonly mode: SearchMode | null;
  /** Most results of one search. */
  readonly maxResults: number;
  /** Most results of all searches of the request together. */
  readonly maxTotalResults: number | null;
  readonly maxUses: number | null;
  /** Longest text of one result. */
  readonly maxCharacters: number;
  readonly domains: DomainRules;
  readonly location: UserLocation | null;
}

/** Names of the domain lists, which differ between tools and plugins. */
export interface DomainNames {
  readonly allowed: string;
  readonly excluded: string;
}

const DEFAULT_RESULTS = 5;
const MOST_RESULTS = 25;
const MOST_USES = 1_000;
const MOST_CHARACTERS = 100_000;
const CHARACTERS = { low: 1_000, medium: 3_000, high: 10_000 } as const;
const SIZES = ['low', 'medium', 'high'] as const;

/** @throws AppError invalid_request with the name of the field after `path` */
export function readSearchSettings(settings: Fields, path: string, names: DomainNames): SearchSettings {
  const reader = new SettingsReader(settings, path);
  const size = reader.oneOf('search_context_size', SIZES) ?? 'medium';
  return {
    engine: reader.text('engine', 64),
    mode: reader.oneOf('mode', SEARCH_MODES),
    maxResults: reader.int('max_results', { min: 1, max: MOST_RESULTS }) ?? DEFAULT_RESULTS,
    maxTotalResults: reader.int('max_total_results', { min: 1, max: MOST_USES }),
    maxUses: reader.int('max_uses', { min: 1, max: MOST_USES }),
    maxCharacters: reader.int('max_characters', { min: 1, max: MOST_CHARACTERS }) ?? CHARACTERS[size],
    domains: reader.domains(names.allowed, names.excluded),
    location: readLocation(reader.object('user_location')),
  };
}

function readLocation(reader: SettingsReader | null): UserLocation | null {
  if (reader === null) return null;
  reader.oneOf('type', ['approximate']);
  const country = reader.text('country', 64);
  return {
    city: reader.text('city', 256),
    region: reader.text('region', 256),
    country: country !== null && /^[a-z]{2}$/i.test(country) ? country.toUpperCase() : null,
  };
}

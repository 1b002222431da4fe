import { isPlainObject } from '../validation/well-formed';

const SORTS = ['price', 'throughput', 'latency', 'exacto'];
const MAX_SLUGS = 200;

/** The `provider` object of inference requests: every member is optional and may be null. */
export interface ProviderPreferences {
  readonly order?: readonly string[] | null;
  readonly only?: readonly string[] | null;
  readonly ignore?: readonly string[] | null;
  readonly allow_fallbacks?: boolean | null;
  readonly require_parameters?: boolean | null;
  readonly data_collection?: 'allow' | 'deny' | null;
  readonly zdr?: boolean | null;
  readonly sort?: string | { readonly by?: string | null; readonly partition?: string | null } | null;
}

type Check = (value: unknown) => string | null;

const CHECKS: Readonly<Record<string, Check>> = {
  order: slugList,
  only: slugList,
  ignore: slugList,
  allow_fallbacks: boolean,
  require_parameters: boolean,
  zdr: boolean,
  enforce_distillable_text: boolean,
  data_collection: (value) => (value === 'allow' || value === 'deny' ? null : ' must be allow or deny'),
  sort: (value) => {
    const by: unknown = isPlainObject(value) ? value.by : value;
    return by === null || by === undefined || SORTS.includes(by as string)
      ? null
      : ` must be one of ${SORTS.join(', ')}`;
  },
};

/** Checks the preferences; members that are not listed here are left alone. */
export function findProviderPreferencesProblem(preferences: unknown): string | null {
  if (!isPlainObject(preferences)) return ' must be an object';
  for (const [name, check] of Object.entries(CHECKS)) {
    const value = Object.hasOwn(preferences, name) ? preferences[name] : undefined;
    if (value === undefined || value === null) continue;
    const problem = check(value);
    if (problem !== null) return `.${name}${problem}`;
  }
  return null;
}

function slugList(value: unknown): string | null {
  const fits =
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= MAX_SLUGS &&
    value.every((slug) => typeof slug === 'string');
  return fits ? null : ` must be an array of 1 to ${MAX_SLUGS} provider slugs`;
}

function boolean(value: unknown): string | null {
  return typeof value === 'boolean' ? null : ' must be a boolean';
}

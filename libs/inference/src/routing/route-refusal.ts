import { AppError, type ErrorCode } from '@libs/errors';
import { REDACTED, theModel } from './unknown-model';

/** The pause of an endpoint: why and how long it must not be called. */
export interface Rest {
  readonly forMs: number;
  /** The upstream limits the rate, asked for a pause, has failed too often, or refused the caller's own key. */
  readonly because: 'quota' | 'overload' | 'breaker' | 'refused';
}

/** `availability.excluded_by` of an error, a closed list. */
export type ExcludedBy =
  | 'geo'
  | 'data_region'
  | 'data_policy:zdr'
  | 'data_policy:training'
  | 'max_price'
  | 'context_length'
  | 'require_parameters'
  | 'quantization'
  | 'allowed_providers';

/** Allowed values of `availability.code`. Each has a heading in docs/errors.md. */
export const AVAILABILITY_CODES = [
  'model_not_found',
  'wrong_endpoint',
  'no_endpoints',
  'model_deprecated',
  'model_unavailable_upstream',
  'privacy_restricted',
  'constraint_filtered',
  'free_variant_ended',
  'region_restricted',
  'capacity_exhausted',
  'temporarily_unavailable',
] as const;
export type AvailabilityCode = (typeof AVAILABILITY_CODES)[number];

/** Why a model is not available, in the terms of the API. */
export interface Reason {
  readonly error: ErrorCode;
  readonly code: AvailabilityCode;
  /** `{model}` stands for the model and its name, `{providers}` for the providers that it has, in parentheses. */
  readonly message: string;
  readonly excludedBy?: ExcludedBy;
  /** The field that removed the last endpoint, and what it demanded, as `message`. Never contains a value of the request. */
  readonly constraint?: { readonly field: string; readonly detail: string };
  /** What the caller can do about the constraint. Default: change the field, or leave it out. */
  readonly remedy?: string;
}

const DOCUMENT = 'docs/errors.md';
const MOST_PROVIDERS = 32;
const LONGEST_SLUG = 256;

/**
 * Returns the error of a request for which no endpoint is left. Its `availability` has `code`, `retryable`,
 * `requested_models`, `docs_url` and, if they apply, `excluded_by`, `constraint`, `affected_providers`, `retry_after`
 * (seconds).
 */
export function refusal(
  reason: Reason,
  requestedModels: readonly string[],
  affectedProviders: readonly string[] = [],
  retryAfterSeconds?: number,
): AppError {
  const { error, code, excludedBy, constraint } = reason;
  const retryable = code === 'capacity_exhausted' || code === 'temporarily_unavailable';
  const providers = [...new Set(affectedProviders)].slice(0, MOST_PROVIDERS);
  return new AppError(error, messageOf(reason, requestedModels, providers), {
    availability: {
      code,
      retryable,
      requested_models: requestedModels.map((slug) => slug.slice(0, LONGEST_SLUG)),
      docs_url: `${DOCUMENT}#${code}`,
      ...(retryAfterSeconds !== undefined && { retry_after: retryAfterSeconds }),
      ...(providers.length > 0 && { affected_providers: providers }),
      ...(excludedBy !== undefined && { excluded_by: excludedBy }),
      ...(constraint !== undefined && {
        constraint: { ...constraint, detail: filled(constraint.detail, REDACTED, '') },
      }),
    },
    retryAfterSeconds,
  });
}

/** Providers in a message; `affected_providers` has more. */
const MOST_SHOWN = 5;

/** Returns the message with the name of the model, its providers, and what the caller can change. */
function messageOf(
  { error, message, constraint, remedy = `change ${constraint?.field}, or leave it out` }: Reason,
  models: readonly string[],
  providers: readonly string[],
): string {
  const named = filled(message, models.length === 1 ? models[0]! : REDACTED, shownProviders(providers));
  if (constraint === undefined) return named;
  return `${named}; ${error === 'permission_denied' ? 'a management key can change it' : remedy}`;
}

function shownProviders(providers: readonly string[]): string {
  if (providers.length === 0) return '';
  const more = providers.length > MOST_SHOWN ? ` and ${providers.length - MOST_SHOWN} more` : '';
  return ` (it has ${providers.slice(0, MOST_SHOWN).join(', ')}${more})`;
}

/** Returns a text of a reason with what its placeholders stand for. */
function filled(text: string, slug: string, providers: string): string {
  const model = slug === REDACTED ? 'The model' : theModel(slug);
  const inSentence = text.startsWith('{model}') ? model : model.replace(/^T/, 't');
  return text.replace('{model}', () => inSentence).replace('{providers}', () => providers);
}

const LIMITED: Reason = {
  error: 'rate_limit_exceeded',
  code: 'capacity_exhausted',
  message: 'Every provider of {model} limits the rate of requests',
};
const RESTING: Reason = {
  error: 'provider_overloaded',
  code: 'temporarily_unavailable',
  message: 'No provider of {model} is available at the moment',
};

/** The caller must act, because the request has no other key. */
export const OWN_KEY_REFUSED = 'The provider refuses your own key: see last_error of the credential';
const REFUSED: Reason = {
  error: 'authentication',
  code: 'temporarily_unavailable',
  message: OWN_KEY_REFUSED,
};

/**
 * Returns the error for the case that all remaining endpoints pause. `retry_after` is the shortest pause. It is one
 * second if there is none: another request has then just taken the only probe.
 */
export function restingRefusal(
  requestedModels: readonly string[],
  providers: readonly string[],
  rests: readonly Rest[],
): AppError {
  const all = (why: Rest['because']): boolean => rests.length > 0 && rests.every(({ because }) => because === why);
  const reason = all('quota') ? LIMITED : all('refused') ? REFUSED : RESTING;
  const soonestMs = rests.length > 0 ? Math.min(...rests.map(({ forMs }) => forMs)) : 0;
  return refusal(reason, requestedModels, providers, Math.max(1, Math.ceil(soonestMs / 1_000)));
}

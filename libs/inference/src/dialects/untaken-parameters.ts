import { JsonCursor, type ScannedObject } from '@libs/json';
import type { CanonicalRequest, ReasoningRequest, Sampling } from '../model/canonical-request';
import type { LossLog } from '../model/loss-report';
import type { Endpoint } from '../catalogue/catalogue';

/**
 * Sampling settings of OpenAI's API, which callers often send to any model. A provider refuses a request with a setting
 * that its model does not have.
 */
const SETTINGS: ReadonlySet<string> = new Set([
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'seed',
  'verbosity',
]);

/**
 * The two fields that state how hard to think. If the catalogue lists neither for a model, it does not think, and its
 * provider refuses both.
 */
const THINKING: readonly string[] = ['reasoning', 'reasoning_effort'];

/** The settings as fields of `Sampling`. */
const SAMPLING: readonly (readonly [keyof Sampling, string])[] = [
  ['temperature', 'temperature'],
  ['topP', 'top_p'],
  ['frequencyPenalty', 'frequency_penalty'],
  ['presencePenalty', 'presence_penalty'],
  ['logitBias', 'logit_bias'],
  ['seed', 'seed'],
];

/**
 * Returns the fields that are not sent because the catalogue does not list them among the endpoint's supported
 * parameters.
 */
export function untakenMembers(request: ScannedObject, endpoint: Endpoint, log?: LossLog): readonly string[] {
  if (endpoint.supportedParameters.length === 0) return [];
  const untaken = request.members.filter(({ key }) => isUntaken(key, endpoint));
  for (const { key, valueStart } of untaken) {
    if (!new JsonCursor(request.bytes, valueStart).isNull()) log?.drop(key);
  }
  return untaken.map(({ key }) => key);
}

/** Removes settings that the endpoint does not support from a canonical request. */
export function withoutUntaken(request: CanonicalRequest, endpoint: Endpoint, log: LossLog): CanonicalRequest {
  if (endpoint.supportedParameters.length === 0) return request;
  const isLost = (name: string, value: unknown): boolean => {
    const isUnheard = value !== undefined && isUntaken(name, endpoint);
    if (isUnheard) log.drop(name);
    return isUnheard;
  };
  const sampling: Record<string, unknown> = { ...request.sampling };
  for (const [key, name] of SAMPLING) if (isLost(name, sampling[key])) delete sampling[key];
  const { topLogprobs, verbosity, reasoning: asked, ...rest } = request;
  const reasoning = asked && (thinks(endpoint) ? asked : withoutThoughts(asked, log));
  return {
    ...rest,
    sampling,
    ...(reasoning !== undefined && { reasoning }),
    ...(!isLost('logprobs', topLogprobs) && { topLogprobs }),
    ...(!isLost('verbosity', verbosity) && { verbosity }),
  };
}

function isUntaken(name: string, endpoint: Endpoint): boolean {
  if (THINKING.includes(name)) return !thinks(endpoint);
  return SETTINGS.has(name) && !endpoint.supportedParameters.includes(name);
}

/** Returns whether the model may think: true if the catalogue says so or lists no parameters. */
export function thinks({ supportedParameters: listed }: Endpoint): boolean {
  return listed.length === 0 || THINKING.some((name) => listed.includes(name));
}

/** Returns whether the catalogue says that the model thinks. */
export function isKnownToThink(endpoint: Endpoint): boolean {
  return endpoint.supportedParameters.length > 0 && thinks(endpoint);
}

/** Returns the reasoning settings for a model that does not think: only `isHidden` is kept. */
function withoutThoughts(
  { isEnabled, effort, maxTokens, isHidden }: ReasoningRequest,
  log: LossLog,
): ReasoningRequest | undefined {
  const isWanted = isEnabled === true || (effort ?? 'none') !== 'none' || maxTokens !== undefined;
  if (isWanted && isEnabled !== false) log.drop('reasoning');
  return isHidden === undefined ? undefined : { isHidden };
}

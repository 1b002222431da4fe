import type { CanonicalRequest, Sampling } from '../model/canonical-request';
import type { LossLog } from '../model/loss-report';
import type { Endpoint } from '../routing/catalogue';
import type { ScannedObject } from './json-members';

/**
 * Settings of how an answer is drawn that are part of OpenAI's API, and which callers leave in whatever model they ask.
 * A provider would refuse the whole request for one that its model does not have.
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

/** Where they stand in a request in no dialect. */
const SAMPLING: readonly (readonly [keyof Sampling, string])[] = [
  ['temperature', 'temperature'],
  ['topP', 'top_p'],
  ['frequencyPenalty', 'frequency_penalty'],
  ['presencePenalty', 'presence_penalty'],
  ['logitBias', 'logit_bias'],
  ['seed', 'seed'],
];

/** Members of a body which the endpoint is not sent, because the catalogue tells what it supports and not these. */
export function untakenMembers({ members }: ScannedObject, endpoint: Endpoint, log?: LossLog): readonly string[] {
  if (endpoint.supportedParameters.length === 0) return [];
  const untaken = members.flatMap(({ key }) => (isUntaken(key, endpoint) ? [key] : []));
  for (const key of untaken) log?.drop(key);
  return untaken;
}

/** The same for a request in no dialect. */
export function withoutUntaken(request: CanonicalRequest, endpoint: Endpoint, log: LossLog): CanonicalRequest {
  if (endpoint.supportedParameters.length === 0) return request;
  const isLost = (name: string, value: unknown): boolean => {
    const isUnheard = value !== undefined && isUntaken(name, endpoint);
    if (isUnheard) log.drop(name);
    return isUnheard;
  };
  const sampling: Record<string, unknown> = { ...request.sampling };
  for (const [key, name] of SAMPLING) if (isLost(name, sampling[key])) delete sampling[key];
  const { topLogprobs, verbosity, ...rest } = request;
  return {
    ...rest,
    sampling,
    ...(!isLost('logprobs', topLogprobs) && { topLogprobs }),
    ...(!isLost('verbosity', verbosity) && { verbosity }),
  };
}

function isUntaken(name: string, { supportedParameters }: Endpoint): boolean {
  return SETTINGS.has(name) && !supportedParameters.includes(name);
}

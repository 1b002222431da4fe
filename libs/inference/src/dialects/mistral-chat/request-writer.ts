import { isObject, objectOf, objectsOf } from '@libs/json';
import type { CanonicalRequest } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { writeRequest as writeChatRequest } from '../openai-chat/request-writer';
import { rewriteMessages } from './conversation-writer';
import { knownReasoning } from './reasoning-settings';
import { asChatEndpoint } from './traits';

const MOST_TEMPERATURE = 1.5;
/** Tiers that equal the only one that the upstream has; leaving them out loses nothing. */
const SERVED_TIERS: readonly string[] = ['auto', 'default'];

type Members = Record<string, unknown>;

/** OpenAI fields for which the upstream refuses a request, and whether their loss is logged. */
const REFUSED: readonly (readonly [name: string, isLoss: boolean])[] = [
  ['stream_options', false],
  ['logit_bias', true],
  ['logprobs', true],
  ['top_logprobs', true],
  ['verbosity', true],
  ['user', true],
];

/** Returns the body for `POST /v1/chat/completions`. Settings that the API has no field for are logged. */
export function writeRequest(request: CanonicalRequest, endpoint: Endpoint, isStream: boolean, log: LossLog): Members {
  const written = writeChatRequest(known(request, endpoint, isStream, log), asChatEndpoint(endpoint), isStream, log);
  for (const [name, isLoss] of REFUSED) {
    if (isLoss && written[name] !== undefined) log.drop(name);
    delete written[name];
  }
  rename(written, 'seed', 'random_seed');
  if (written['tool_choice'] === 'required') written['tool_choice'] = 'any';
  if (written['tools'] !== undefined) written['tools'] = objectsOf(written['tools']).map(withParameters);
  written['messages'] = rewriteMessages(written['messages'], log);
  return written;
}

/**
 * Returns the request without the settings that the upstream lacks. A value that the upstream does not have becomes the
 * nearest one.
 */
function known(request: CanonicalRequest, endpoint: Endpoint, isStream: boolean, log: LossLog): CanonicalRequest {
  const { outputModalities = [], serviceTier = 'auto', choices = 1, reasoning, sampling, ...rest } = request;
  if (outputModalities.some((modality) => modality !== 'text')) log.drop('modalities');
  if (!SERVED_TIERS.includes(serviceTier)) log.drop('service_tier');
  // Only the first choice of a stream can be read.
  if (isStream && choices > 1) log.drop('n');
  return {
    ...rest,
    ...(!isStream && choices > 1 && { choices }),
    reasoning: knownReasoning(reasoning, endpoint, log),
    sampling: { ...sampling, temperature: knownTemperature(sampling.temperature, log) },
  };
}

function knownTemperature(asked: number | undefined, log: LossLog): number | undefined {
  if (asked === undefined || asked <= MOST_TEMPERATURE) return asked;
  log.approximate('temperature');
  return MOST_TEMPERATURE;
}

function rename(members: Members, from: string, to: string): void {
  if (members[from] === undefined) return;
  members[to] = members[from];
  delete members[from];
}

/** Adds empty parameters to a tool without any: the upstream requires the field. */
function withParameters(tool: Readonly<Members>): Members {
  const called = objectOf(tool['function']);
  if (isObject(called['parameters'])) return tool;
  return { ...tool, function: { ...called, parameters: { type: 'object', properties: {} } } };
}

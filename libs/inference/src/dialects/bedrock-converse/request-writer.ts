import { defined } from '@libs/json';
import type { CanonicalRequest, ResponseFormat } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { withFreeChoice } from '../anthropic-messages/reasoning-settings';
import { outputSchema } from '../closed-schema';
import { readTurns, writeTurns } from './conversation-writer';
import { familyOf, type ModelFamily } from './traits';
import { writeSettings } from './settings-writer';
import { writeToolConfig } from './tool-writer';

/** Path of a response field that only Anthropic's models have. */
const STOP_SEQUENCE_PATH = '/stop_sequence';

/** Returns the body for Converse and ConverseStream; the model is in the path. Losses go to the log. */
export function writeRequest(asked: CanonicalRequest, endpoint: Endpoint, _isStream: boolean, log: LossLog): object {
  const family = familyOf(endpoint);
  const request = withFreeChoice(asked, endpoint, log);
  logForeign(request, log);
  const conversation = readTurns(request, family, log);
  const { inference, fields } = writeSettings(request, conversation, endpoint, family, log);
  const stopSequences = writeStopSequences(request.stopSequences, log);
  return defined({
    ...writeTurns(conversation, request.cache, family, log),
    inferenceConfig: unlessEmpty(defined({ ...inference, stopSequences })),
    toolConfig: writeToolConfig(request, conversation, family, log),
    additionalModelRequestFields: unlessEmpty(fields),
    additionalModelResponseFieldPaths: family.name === 'anthropic' && stopSequences ? [STOP_SEQUENCE_PATH] : undefined,
    outputConfig: writeOutputConfig(request.responseFormat, family, log),
    serviceTier: writeServiceTier(request.serviceTier, log),
    requestMetadata: request.endUser === undefined ? undefined : { user: request.endUser },
  });
}

/** Logs fields that Bedrock has no equivalent for. */
function logForeign(request: CanonicalRequest, log: LossLog): void {
  const { choices, outputModalities, metadata } = request;
  if (choices !== undefined && choices > 1) log.drop('n');
  if (request.topLogprobs !== undefined) log.drop('logprobs');
  if (outputModalities?.some((modality) => modality !== 'text')) log.drop('modalities');
  if (request.promptCacheKey !== undefined) log.drop('prompt_cache_key');
  if (metadata !== undefined && Object.keys(metadata).length > 0) log.drop('metadata');
}

/** Leaves out sequences of only white space, which Bedrock refuses. */
function writeStopSequences(sequences: readonly string[], log: LossLog): readonly string[] | undefined {
  const kept = sequences.filter((sequence) => sequence.trim() !== '');
  if (kept.length < sequences.length) log.drop('stop');
  return kept.length === 0 ? undefined : kept;
}

function writeOutputConfig(
  format: ResponseFormat | undefined,
  { takesSchema }: ModelFamily,
  log: LossLog,
): object | undefined {
  if (format === undefined || format.type === 'text') return undefined;
  if (format.type === 'json' || !takesSchema) {
    log.drop('response_format');
    return undefined;
  }
  const { name, description, schema } = format;
  const jsonSchema = defined({ schema: JSON.stringify(outputSchema(schema, log)), name, description });
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } };
}

const TIERS: Readonly<Record<string, string>> = {
  default: 'default',
  flex: 'flex',
  priority: 'priority',
};

/** Returns undefined if the caller leaves the tier to us: then Bedrock chooses. */
function writeServiceTier(tier: string | undefined, log: LossLog): object | undefined {
  if (tier === undefined || tier === 'auto') return undefined;
  if (Object.hasOwn(TIERS, tier)) return { type: TIERS[tier] };
  log.drop('service_tier');
  return undefined;
}

function unlessEmpty<T extends object>(object: T): T | undefined {
  return Object.keys(object).length === 0 ? undefined : object;
}

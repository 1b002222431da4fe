import { defined } from '@libs/json';
import type { CanonicalRequest, Sampling } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { generationOf, THIRD_GENERATION } from './traits';
import { writeThinking } from './reasoning-settings';

const MOST_STOPS = 5;

const FOREIGN_SAMPLING: readonly (readonly [keyof Sampling, string])[] = [
  ['minP', 'min_p'],
  ['topA', 'top_a'],
  ['repetitionPenalty', 'repetition_penalty'],
  ['logitBias', 'logit_bias'],
];

/** Returns `generationConfig`; undefined if the request has no such settings. */
export function writeGenerationConfig(
  request: CanonicalRequest,
  endpoint: Endpoint,
  isStream: boolean,
  log: LossLog,
): object | undefined {
  const { maxOutputTokens, topLogprobs } = request;
  const config = defined({
    ...writeSampling(request.sampling, log),
    maxOutputTokens,
    stopSequences: writeStops(request.stopSequences, log),
    candidateCount: writeCount(request.choices, isStream || generationOf(endpoint) >= THIRD_GENERATION, log),
    responseLogprobs: topLogprobs === undefined ? undefined : true,
    logprobs: topLogprobs === 0 ? undefined : topLogprobs,
    responseModalities: writeModalities(request.outputModalities, log),
    ...writeFormat(request, endpoint, log),
    thinkingConfig: writeThinking(request, endpoint, log),
  });
  return Object.keys(config).length === 0 ? undefined : config;
}

function writeSampling(sampling: Sampling, log: LossLog): object {
  for (const [name, wireName] of FOREIGN_SAMPLING) if (sampling[name] !== undefined) log.drop(wireName);
  const { temperature, topP, topK, frequencyPenalty, presencePenalty, seed } = sampling;
  // In other APIs, 0 means no limit, which is this upstream's default.
  if (topK === 0) log.approximate('top_k');
  return {
    temperature,
    topP,
    topK: topK === 0 ? undefined : topK,
    frequencyPenalty,
    presencePenalty,
    seed: seed === undefined ? undefined : writeSeed(seed, log),
  };
}

/** The upstream's seed has 32 bits. */
function writeSeed(seed: number, log: LossLog): number {
  const short = seed | 0;
  if (short !== seed) log.approximate('seed');
  return short;
}

function writeStops(sequences: readonly string[], log: LossLog): readonly string[] | undefined {
  const kept = sequences.filter((sequence) => sequence !== '').slice(0, MOST_STOPS);
  if (kept.length < sequences.length) log.approximate('stop');
  return kept.length === 0 ? undefined : kept;
}

/** Writes the number of answers: 1 for a translated stream and for models from the third generation on. */
function writeCount(choices: number | undefined, isOne: boolean, log: LossLog): number | undefined {
  if (choices === undefined || choices === 1) return undefined;
  if (isOne) log.drop('n');
  return isOne ? undefined : choices;
}

/** Writes the output modalities without sound, which an answer cannot hold. */
function writeModalities(
  modalities: CanonicalRequest['outputModalities'],
  log: LossLog,
): readonly string[] | undefined {
  const wanted = modalities?.filter((modality) => modality !== 'audio') ?? [];
  if (wanted.length < (modalities?.length ?? 0)) log.drop('modalities');
  return wanted.length === 0 ? undefined : wanted.map((modality) => modality.toUpperCase());
}

/** Writes the response format. Models before the third generation cannot combine it with functions. */
function writeFormat(
  { responseFormat, tools, toolChoice }: CanonicalRequest,
  endpoint: Endpoint,
  log: LossLog,
): object {
  if (responseFormat === undefined || responseFormat.type === 'text') return {};
  const mayCall = tools.length > 0 && toolChoice?.type !== 'none';
  if (mayCall && generationOf(endpoint) < THIRD_GENERATION) {
    log.drop('response_format');
    return {};
  }
  const responseMimeType = 'application/json';
  if (responseFormat.type === 'json') return { responseMimeType };
  if (responseFormat.description !== undefined) log.drop('response_format.description');
  return { responseMimeType, responseJsonSchema: responseFormat.schema };
}

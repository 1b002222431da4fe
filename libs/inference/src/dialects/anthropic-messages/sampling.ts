import { defined } from '@libs/json';
import type { Sampling } from '../../model/canonical-request';
import type { LossLog } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';

interface WireSampling {
  readonly temperature: number;
  readonly top_p: number;
  readonly top_k: number;
}

const FOREIGN: readonly (readonly [keyof Sampling, string])[] = [
  ['minP', 'min_p'],
  ['topA', 'top_a'],
  ['frequencyPenalty', 'frequency_penalty'],
  ['presencePenalty', 'presence_penalty'],
  ['repetitionPenalty', 'repetition_penalty'],
  ['seed', 'seed'],
  ['logitBias', 'logit_bias'],
];

/** The least `top_p` that a model takes while it thinks. */
const LEAST_THINKING_TOP_P = 0.95;

/**
 * Returns the samplers that Anthropic's models take: a temperature or a `top_p` (all models since Claude 4.1
 * refuse both together), and `top_k` unless the catalogue lists the model's parameters without it.
 */
export function writeModelSampling(
  sampling: Sampling,
  endpoint: Endpoint,
  isThinking: boolean,
  log: LossLog,
): Partial<WireSampling> {
  const { topK, ...rest } = sampling;
  const { supportedParameters: listed } = endpoint;
  const isUnheard = topK !== undefined && listed.length > 0 && !listed.includes('top_k');
  if (isUnheard) log.drop('top_k');
  return withOneOfTwo(writeSampling(isUnheard ? rest : sampling, isThinking, log), log);
}

/** Keeps the temperature if both are set; the `top_p` if the temperature is 1, the default. */
function withOneOfTwo(written: Partial<WireSampling>, log: LossLog): Partial<WireSampling> {
  const { temperature, top_p, ...rest } = written;
  if (temperature === undefined || top_p === undefined) return written;
  if (temperature === 1 && top_p !== 1) return { ...rest, top_p };
  if (top_p !== 1) log.drop('top_p');
  return { ...rest, temperature };
}

/** Returns the three sampling settings that this API has, limited to its bounds. */
export function writeSampling(sampling: Sampling, isThinking: boolean, log: LossLog): Partial<WireSampling> {
  for (const [name, wireName] of FOREIGN) if (sampling[name] !== undefined) log.drop(wireName);
  const { temperature, topP: top_p, topK: top_k } = sampling;
  const asked = defined({ temperature, top_p, top_k });
  if (isThinking) return whileThinking(asked, log);
  if (asked.temperature === undefined || asked.temperature <= 1) return asked;
  log.approximate('temperature');
  return { ...asked, temperature: 1 };
}

/** Returns the samplers that a model takes while it thinks: a `top_p` of at least 0.95. */
function whileThinking(asked: Partial<WireSampling>, log: LossLog): Partial<WireSampling> {
  const { temperature = 1, top_p, top_k } = asked;
  if (temperature !== 1) log.drop('temperature');
  if (top_k !== undefined) log.drop('top_k');
  const isLow = top_p !== undefined && top_p < LEAST_THINKING_TOP_P;
  if (isLow) log.drop('top_p');
  return isLow ? {} : defined({ top_p });
}

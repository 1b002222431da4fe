import { numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { tierNamed, tierWord } from '../../catalogue/service-tiers';
import type { Usage } from '../../pricing/usage';
import type { BilledUnits } from '../../pricing/price';
import { reportedUsage } from '../openai-usage';

export interface ReportedUsage {
  readonly usage: Usage;
  readonly units?: BilledUnits;
}

/**
 * Returns the counts of `usageMetadata`; null while there are none. Tokens that the upstream's tools
 * read count as prompt, thoughts as completion. Later code checks the counts against the endpoint's limits.
 */
export function readUsage(metadata: unknown): ReportedUsage | null {
  const reported = objectOf(metadata);
  const [prompt, candidates] = [count(reported['promptTokenCount']), count(reported['candidatesTokenCount'])];
  const thoughts = count(reported['thoughtsTokenCount']) ?? 0;
  const promptDetails = objectsOf(reported['promptTokensDetails']);
  const answerDetails = objectsOf(reported['candidatesTokensDetails']);
  const counts = {
    prompt: prompt && prompt + (count(reported['toolUsePromptTokenCount']) ?? 0),
    // A count of 0 is left out where there is another.
    completion: prompt === null && candidates === null && thoughts === 0 ? null : (candidates ?? 0) + thoughts,
    total: null,
    cached: count(reported['cachedContentTokenCount']),
    cacheWrite: null,
    audioPrompt: ofModality(promptDetails, 'AUDIO'),
    reasoning: thoughts,
    audioCompletion: ofModality(answerDetails, 'AUDIO'),
    videoPrompt: ofModality(promptDetails, 'VIDEO'),
    filePrompt: ofModality(promptDetails, 'DOCUMENT'),
    imageCompletion: ofModality(answerDetails, 'IMAGE'),
  };
  const usage = reportedUsage(counts);
  if (usage === null) return null;
  const units = unitsOf(promptDetails, objectsOf(reported['cacheTokensDetails']));
  return { usage, ...(Object.keys(units).length > 0 && { units }) };
}

/** Returns the prompt's units with rates of their own: uncached image tokens and cached audio tokens. */
function unitsOf(prompt: readonly JsonObject[], cached: readonly JsonObject[]): BilledUnits {
  const imageTokens = Math.max(0, ofModality(prompt, 'IMAGE') - ofModality(cached, 'IMAGE'));
  const cachedAudioTokens = ofModality(cached, 'AUDIO');
  return { ...(imageTokens > 0 && { imageTokens }), ...(cachedAudioTokens > 0 && { cachedAudioTokens }) };
}

/** Returns the tier that served, by our name. Vertex AI reports it in `trafficType`. */
export function readServiceTier(metadata: unknown): { readonly serviceTier?: string } {
  const { serviceTier, trafficType } = objectOf(metadata);
  const word = stringOf(serviceTier)?.toLowerCase();
  if (word !== undefined && word !== 'unspecified') return { serviceTier: tierWord(word) };
  const traffic = stringOf(trafficType);
  return traffic === undefined || tierNamed(traffic) === null ? {} : { serviceTier: tierWord(traffic) };
}

function ofModality(details: readonly JsonObject[], modality: string): number {
  return details.reduce((sum, each) => sum + (each['modality'] === modality ? (count(each['tokenCount']) ?? 0) : 0), 0);
}

function count(value: unknown): number | null {
  const number = numberOf(value) ?? null;
  return number !== null && Number.isSafeInteger(number) && number >= 0 ? number : null;
}

import { isObject } from '@libs/json';
import { sentOptions } from '../../audio/speech-options';
import { transcriptTokensWhenAsked } from '../../audio/speech-tokens';
import type { Transcription } from '../../audio/transcription';
import { leastThinking } from '../../dialects/google-generate-content/reasoning-settings';
import type { Endpoint } from '../../catalogue/catalogue';

/** The `generationConfig` of a request. Its cap includes thoughts, so no other output tokens can be charged. */
interface GenerationSettings {
  readonly maxOutputTokens: number;
  readonly thinkingConfig?: object | undefined;
}

/** Largest output in tokens, if the catalogue does not state it. */
const LARGEST_OUTPUT = 65_536;
/** A budget that the model chooses itself. */
const DYNAMIC = -1;
/** Tokens reserved for the thoughts of models that have no numeric thinking budget. */
const ROOM: Readonly<Record<string, number>> = { minimal: 512, low: 2_048, medium: 8_192 };
const MOST_ROOM = 32_768;

/**
 * Returns the settings to send with a recording. A model thinks as little as it can unless the caller's
 * `thinkingConfig` asks for more. The answer is capped at the caller's `maxOutputTokens`, or else at what the recording
 * and the thoughts may need. Settings that do not have the documented form are left out.
 */
export function generationSettings(transcription: Transcription, endpoint: Endpoint): GenerationSettings {
  const { thinkingConfig, maxOutputTokens, ...others } = sentOptions(transcription, endpoint);
  const wanted = readThinking(thinkingConfig);
  const thinking: ThinkingWish = wanted ?? leastThinking(endpoint) ?? {};
  const cap = isCount(maxOutputTokens) && maxOutputTokens > 0 ? maxOutputTokens : null;
  const needed = transcriptTokensWhenAsked(transcription, endpoint) + roomFor(thinking);
  const outputCap = cap ?? Math.min(needed, endpoint.maxCompletionTokens ?? LARGEST_OUTPUT);
  const { thinkingBudget } = thinking;
  const bounded =
    thinkingBudget === undefined ? thinking : { ...thinking, thinkingBudget: Math.min(thinkingBudget, outputCap) };
  return {
    ...others,
    maxOutputTokens: outputCap,
    thinkingConfig: Object.keys(bounded).length === 0 ? undefined : bounded,
  };
}

interface ThinkingWish {
  readonly thinkingBudget?: number;
  readonly thinkingLevel?: string;
}

/** Returns what the setting says about thinking; null if it says nothing or cannot be read. */
function readThinking(config: unknown): ThinkingWish | null {
  if (!isObject(config)) return null;
  const { thinkingBudget, thinkingLevel } = config;
  if (isCount(thinkingBudget) || thinkingBudget === DYNAMIC) return { thinkingBudget };
  return typeof thinkingLevel === 'string' ? { thinkingLevel } : null;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function roomFor({ thinkingBudget, thinkingLevel }: ThinkingWish): number {
  if (thinkingLevel !== undefined) return ROOM[thinkingLevel.toLowerCase()] ?? MOST_ROOM;
  return thinkingBudget === DYNAMIC ? MOST_ROOM : (thinkingBudget ?? 0);
}

import type { Endpoint } from '../catalogue/catalogue';
import type { Transcription } from './transcription';

/** The options of a request that are sent to providers of a protocol together with the recording. */
interface SpeechOptions {
  /** Fields of `provider.options` that cost nothing, or only the tokens of their text. */
  readonly free: readonly string[];
  /** Fields of `provider.options` for which the provider charges more, with the values that cost no more. */
  readonly paid?: Readonly<Record<string, readonly unknown[]>>;
  /** Fields of the request itself for which the provider charges more. */
  readonly paidMembers?: readonly ('keyterms' | 'diarize')[];
}

const OPENAI: SpeechOptions = {
  free: ['prompt', 'chunking_strategy', 'hotwords', 'vad_filter', 'task', 'chunk_level', 'version'],
};

/**
 * The options by protocol. Options that are not listed are never sent, so that they can change neither the result nor
 * its price.
 */
const OPTIONS: Readonly<Record<string, SpeechOptions>> = {
  openai: OPENAI,
  azure: OPENAI,
  google: { free: ['thinkingConfig', 'maxOutputTokens', 'topP', 'topK', 'seed'] },
  mistral: { free: [] },
  'azure-speech': {
    free: ['locales', 'profanityFilterMode'],
    // The provider charges each channel of a recording separately.
    paid: { channels: [[0], [1]] },
  },
  deepgram: {
    free: [
      'smart_format',
      'punctuate',
      'numerals',
      'measurements',
      'dictation',
      'filler_words',
      'profanity_filter',
      'replace',
      'search',
      'paragraphs',
      'utt_split',
      'version',
    ],
    // The list price applies to customers who let the provider train models on their recordings.
    paid: { redact: [], detect_entities: [], mip_opt_out: [] },
    paidMembers: ['keyterms', 'diarize'],
  },
  elevenlabs: {
    free: ['tag_audio_events', 'num_speakers', 'diarization_threshold', 'no_verbatim', 'seed'],
    paid: { entity_detection: [] },
    paidMembers: ['keyterms'],
  },
  assemblyai: {
    free: [
      'punctuate',
      'format_text',
      'disfluencies',
      'speakers_expected',
      'speech_threshold',
      'redact_pii_policies',
      'redact_pii_sub',
      'custom_spelling',
      'audio_start_from',
      'audio_end_at',
    ],
    paid: { prompt: [], filter_profanity: [], entity_detection: [], redact_pii: [] },
    paidMembers: ['keyterms', 'diarize'],
  },
  gladia: {
    free: [
      'custom_spelling',
      'custom_spelling_config',
      'diarization_config',
      'punctuation_enhanced',
      'name_consistency',
    ],
  },
  revai: {
    free: [
      'skip_punctuation',
      'skip_postprocessing',
      'remove_disfluencies',
      'remove_atmospherics',
      'filter_profanity',
      'speakers_count',
      'verbatim',
    ],
    paid: { diarization_type: ['standard'] },
  },
};

const NONE: SpeechOptions = { free: [] };

/**
 * Returns the fields of `provider.options` to send to this endpoint, by the names of its provider's API. An option that
 * costs more is not sent while it is off, because its value may have another meaning there.
 */
export function sentOptions(transcription: Transcription, endpoint: Endpoint): Readonly<Record<string, unknown>> {
  const { free, paid = {} } = rulesOf(endpoint);
  const isSent = ([name, value]: [string, unknown]): boolean =>
    free.includes(name) || (Object.hasOwn(paid, name) && !isOff(value));
  return Object.fromEntries(Object.entries(optionsFor(transcription, endpoint)).filter(isSent));
}

/**
 * Returns the options in use for which the endpoint's provider charges more, by the names under which the catalogue
 * prices them.
 */
export function paidOptions(transcription: Transcription, endpoint: Endpoint): readonly string[] {
  const { paid = {}, paidMembers = [] } = rulesOf(endpoint);
  const options = optionsFor(transcription, endpoint);
  const isPaid = (name: string): boolean => {
    const value = options[name];
    return Object.hasOwn(options, name) && !isOff(value) && !paid[name]!.some((free) => isSame(free, value));
  };
  const inUse = { keyterms: transcription.keyterms.length > 0, diarize: transcription.diarize };
  return [...paidMembers.filter((member) => inUse[member]), ...Object.keys(paid).filter(isPaid)];
}

/** Returns whether some provider charges more for a field of `provider.options` with this name. */
export function mayBePaid(name: string): boolean {
  return PAID.has(name);
}

const PAID: ReadonlySet<string> = new Set(Object.values(OPTIONS).flatMap(({ paid = {} }) => Object.keys(paid)));

function rulesOf({ provider: { protocol } }: Endpoint): SpeechOptions {
  return Object.hasOwn(OPTIONS, protocol) ? OPTIONS[protocol]! : NONE;
}

function optionsFor({ options }: Transcription, { provider }: Endpoint): Readonly<Record<string, unknown>> {
  return Object.hasOwn(options, provider.slug) ? options[provider.slug]! : {};
}

/** Returns whether the value of an option means "off" in every API. */
function isOff(value: unknown): boolean {
  const isEmpty = Array.isArray(value) && value.length === 0;
  return isEmpty || value === undefined || value === null || value === false || value === 'false' || value === '';
}

function isSame(value: unknown, other: unknown): boolean {
  return JSON.stringify(value) === JSON.stringify(other);
}

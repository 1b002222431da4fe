import { mayBePaid, paidOptions } from '../../audio/speech-options';
import type { Transcription } from '../../audio/transcription';
import { transcriptionTraitsOf } from '../../audio/transcription-traits';
import { audioOptionRate } from '../../pricing/price';
import type { Endpoint } from '../../catalogue/catalogue';
import type { EndpointNeed } from '../../model/endpoint-need';

/** Returns the capabilities that a request needs from endpoints, beyond plain text. */
export function transcriptionNeeds(transcription: Transcription): readonly EndpointNeed[] {
  const { diarize, keyterms, isVerbose } = transcription;
  return [
    ...(diarize ? [DIARIZE] : []),
    ...(keyterms.length > 0 ? [KEYTERMS] : []),
    ...(isVerbose ? [VERBOSE_JSON] : []),
    ...priceNeeds(transcription),
  ];
}

/**
 * Returns the need for a price: an option for which a provider charges more requires a price in the catalogue, or a key
 * of the caller's own. Only endpoints of the provider to which the option belongs need it.
 */
function priceNeeds(transcription: Transcription): readonly EndpointNeed[] {
  const { keyterms, diarize, options } = transcription;
  const ofProviders = Object.entries(options).flatMap(([slug, named]) =>
    Object.keys(named)
      .filter(mayBePaid)
      .map((name) => priceNeed(transcription, name, slug)),
  );
  return [
    ...(keyterms.length > 0 ? [priceNeed(transcription, 'keyterms', null)] : []),
    ...(diarize ? [priceNeed(transcription, 'diarize', null)] : []),
    ...ofProviders,
  ];
}

/** @param slug of the provider to which the option belongs; null for a field of the request itself */
function priceNeed(transcription: Transcription, name: string, slug: string | null): EndpointNeed {
  const member = slug === null ? name : `provider.options.${slug}.${name}`;
  const isPriced = (endpoint: Endpoint): boolean =>
    !paidOptions(transcription, endpoint).includes(name) || audioOptionRate(endpoint.pricing, name) !== undefined;
  return {
    member,
    message: `${member} has no price at the providers of the model: it can only be used with a provider key of your own`,
    isMetBy: (endpoint, credential) =>
      credential !== null || (slug !== null && endpoint.provider.slug !== slug) || isPriced(endpoint),
  };
}

const DIARIZE: EndpointNeed = {
  member: 'diarize',
  message: 'No provider of the model can tell speakers apart (diarize)',
  isMetBy: (endpoint) => transcriptionTraitsOf(endpoint).diarize,
};
const KEYTERMS: EndpointNeed = {
  member: 'keyterms',
  message: 'No provider of the model takes keyterms',
  isMetBy: (endpoint) => transcriptionTraitsOf(endpoint).keyterms,
};
const VERBOSE_JSON: EndpointNeed = {
  member: 'response_format',
  message: 'No provider of the model gives verbose_json',
  isMetBy: (endpoint) => transcriptionTraitsOf(endpoint).verboseJson,
};

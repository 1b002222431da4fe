import { parseRate } from '../../pricing/money';
import { anEndpoint, anOwnCredential, aProvider, aTranscription } from '../../testing';
import type { Transcription } from '../../audio/transcription';
import { transcriptionNeeds } from './transcription-needs';

const OWN = anOwnCredential();
const ABLE = { transcription: { diarize: true, keyterms: true, verbose_json: true } };

/** The members for which an endpoint of this protocol cannot serve. */
function unmet(
  protocol: string,
  asked: Partial<Transcription>,
  { own = false, prices = {} }: { own?: boolean; prices?: Readonly<Record<string, string>> } = {},
): readonly string[] {
  const audioOptions = Object.fromEntries(Object.entries(prices).map(([name, price]) => [name, parseRate(price)]));
  const pricing = { prompt: 0n, completion: 0n, audioSecond: 1n, audioOptions };
  const endpoint = anEndpoint({ provider: aProvider({ slug: protocol, protocol }), pricing, capabilities: ABLE });
  return transcriptionNeeds(aTranscription(asked))
    .filter(({ isMetBy }) => !isMetBy(endpoint, own ? OWN : null))
    .map(({ member }) => member);
}

describe('an option for which a provider charges more', () => {
  const CASES: readonly (readonly [string, string, unknown])[] = [
    ['assemblyai', 'entity_detection', true],
    ['assemblyai', 'redact_pii', true],
    ['assemblyai', 'filter_profanity', true],
    ['assemblyai', 'prompt', 'Names of rivers'],
    ['deepgram', 'redact', ['pci']],
    ['deepgram', 'redact', 'pci'],
    ['deepgram', 'detect_entities', 'true'],
    ['deepgram', 'mip_opt_out', true],
    ['elevenlabs', 'entity_detection', 'all'],
    ['azure-speech', 'channels', [0, 1]],
    ['revai', 'diarization_type', 'premium'],
  ];

  it.each(CASES)('cannot be used on the account of the operator: %s %s %j', (protocol, name, value) => {
    const options = { [protocol]: { [name]: value } };
    expect(unmet(protocol, { options })).toEqual([`provider.options.${protocol}.${name}`]);
  });

  it.each(CASES)('can be used with a key of the caller, or at a price: %s %s %j', (protocol, name, value) => {
    const options = { [protocol]: { [name]: value } };
    expect(unmet(protocol, { options }, { own: true })).toEqual([]);
    expect(unmet(protocol, { options }, { prices: { [name]: '0' } })).toEqual([]);
  });

  it.each([
    ['deepgram', { keyterms: ['Sluice'] }, 'keyterms'],
    ['deepgram', { diarize: true }, 'diarize'],
    ['assemblyai', { keyterms: ['Sluice'] }, 'keyterms'],
    ['elevenlabs', { keyterms: ['Sluice'] }, 'keyterms'],
  ])('may be a member of the request: %s %j', (protocol, asked, name) => {
    expect(unmet(protocol, asked)).toEqual([name]);
    expect(unmet(protocol, asked, { own: true })).toEqual([]);
    expect(unmet(protocol, asked, { prices: { [name]: '0.00001' } })).toEqual([]);
  });

  it.each([
    ['assemblyai', { entity_detection: false, redact_pii: null, prompt: '' }],
    ['deepgram', { redact: [], detect_entities: 'false' }],
    ['azure-speech', { channels: [0] }],
    ['revai', { diarization_type: 'standard' }],
    ['gladia', { entity_detection: true }],
    ['openai', { prompt: 'Names of rivers' }],
  ])('is not asked for: %s %j', (protocol, options) => {
    expect(unmet(protocol, { options: { [protocol]: options } })).toEqual([]);
  });

  it('is no matter of other providers', () => {
    expect(unmet('gladia', { options: { assemblyai: { entity_detection: true } } })).toEqual([]);
    expect(unmet('assemblyai', { options: { gladia: { entity_detection: true } } })).toEqual([]);
  });
});

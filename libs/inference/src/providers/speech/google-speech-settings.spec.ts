import { anEndpoint, aProvider, aTranscription } from '../../testing';
import { generationSettings } from './google-speech-settings';

const provider = aProvider({ protocol: 'google' });
const at = (upstreamModel: string, maxCompletionTokens: number | null = null) =>
  anEndpoint({ provider, upstreamModel, maxCompletionTokens });
const FLASH = at('gemini-2.5-flash');
const PRO = at('gemini-2.5-pro');
const THIRD = at('gemini-3-flash-preview');

function settingsOf(options: object = {}, endpoint = FLASH, seconds: number | null = 60) {
  const transcription = aTranscription({
    secondsWhenAsked: seconds,
    options: { acme: options as Readonly<Record<string, unknown>> },
  });
  return generationSettings(transcription, endpoint) as {
    maxOutputTokens: number;
    thinkingConfig?: { thinkingBudget?: number; thinkingLevel?: string };
  };
}

const PLAIN = settingsOf().maxOutputTokens;

describe(generationSettings.name, () => {
  it.each([
    ['gemini-2.5-flash', FLASH, { thinkingBudget: 0 }],
    ['gemini-2.5-pro, which always thinks', PRO, { thinkingBudget: 128 }],
    ['gemini-3-flash', THIRD, { thinkingLevel: 'MINIMAL' }],
    ['a model that does not think', at('gemini-2.0-flash'), undefined],
  ])('has a model think as little as it can: %s', (_name, endpoint, thinkingConfig) => {
    expect(settingsOf({}, endpoint).thinkingConfig).toEqual(thinkingConfig);
  });

  it('caps the answer by the length of the recording, at what the endpoint gives', () => {
    expect(PLAIN).toBe(64 + 750);
    expect(settingsOf({}, FLASH, 600).maxOutputTokens).toBe(64 + 7_500);
    expect(settingsOf({}, FLASH, null).maxOutputTokens).toBe(65_536);
    expect(settingsOf({}, at('gemini-2.5-flash', 8_192), null).maxOutputTokens).toBe(8_192);
  });

  it.each([
    [{ thinkingBudget: 24_576 }, 24_576],
    [{ thinkingBudget: -1 }, 32_768],
    [{ thinkingLevel: 'low' }, 2_048],
    [{ thinkingLevel: 'HIGH' }, 32_768],
    [{ thinkingLevel: 'unheard of' }, 32_768],
  ])('makes room for the thoughts that are asked for: %j', (thinkingConfig, room) => {
    expect(settingsOf({ thinkingConfig })).toMatchObject({ thinkingConfig, maxOutputTokens: PLAIN + room });
  });

  it('goes by a cap of the caller, also on thoughts', () => {
    const asked = { maxOutputTokens: 500, thinkingConfig: { thinkingBudget: 24_576 } };
    expect(settingsOf(asked)).toEqual({ maxOutputTokens: 500, thinkingConfig: { thinkingBudget: 500 } });
  });

  it.each([
    { maxOutputTokens: '65536' },
    { maxOutputTokens: -1 },
    { maxOutputTokens: 0 },
    { maxOutputTokens: 1.5 },
    { maxOutputTokens: null },
    { max_output_tokens: 65_536 },
    { thinkingConfig: { thinkingBudget: '24576' } },
    { thinkingConfig: { thinking_budget: 24_576 } },
    { thinkingConfig: { thinkingBudget: -2 } },
    { thinkingConfig: [24_576] },
    { thinkingConfig: 'HIGH' },
    { candidateCount: 8 },
  ])('leaves out what it cannot count: %j', (options) => {
    expect(settingsOf(options)).toEqual(settingsOf());
  });

  it('leaves other settings as they are', () => {
    expect(settingsOf({ topP: 0.5, topK: 3, seed: 1 })).toMatchObject({ topP: 0.5, topK: 3, seed: 1 });
  });
});

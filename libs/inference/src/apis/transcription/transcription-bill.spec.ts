import { parsePercent } from '../../pricing/byok-fee';
import { formatUsd, parseRate } from '../../pricing/money';
import { anEndpoint, aProvider, aTranscription } from '../../testing';
import type { Endpoint } from '../../catalogue/catalogue';
import type { Share } from '../../pricing/byok-fee';
import { billTranscription, mostExpensiveTranscription } from './transcription-bill';
import type { TranscriptionResult } from '../../audio/transcript';

const RESULT = { transcript: { text: 'Hello, world.' }, seconds: null, tokens: null, upstreamId: null };
const MEASURED = 90.5;
const TOKEN_PRICES = { prompt: parseRate('0.000002'), completion: parseRate('0.00001'), audio: parseRate('0.000006') };
const byTheSecond = anEndpoint({
  pricing: { prompt: 0n, completion: 0n, audioSecond: parseRate('0.000030833333333333') },
});
const byTheToken = anEndpoint({ pricing: TOKEN_PRICES });

const billOf = (result: TranscriptionResult, seconds: number, endpoint: Endpoint, byokFee?: Share) =>
  billTranscription(result, { transcription: aTranscription({}, seconds), endpoint, byokFee });

const costOf = (...call: Parameters<typeof billOf>): string => formatUsd(billOf(...call).cost.totalCost);

describe(billTranscription.name, () => {
  it('charges what the provider counted before what we measured', () => {
    expect(costOf({ ...RESULT, seconds: 60 }, MEASURED, byTheSecond)).toBe('0.00185');
    expect(billOf({ ...RESULT, seconds: 60 }, MEASURED, byTheSecond).usage.provenance).toBe('upstream');
  });

  it('charges the measured length to the digit, and says that it is ours', () => {
    const { cost, seconds, usage } = billOf(RESULT, MEASURED, byTheSecond);
    // 90.5 · 0.000030833333333333, rounded once at the pico-dollar.
    expect(formatUsd(cost.totalCost)).toBe('0.002790416667');
    expect({ seconds, provenance: usage.provenance }).toEqual({ seconds: 90.5, provenance: 'estimated' });
  });

  it('charges at least the time in which the text can be said, whatever the head of the recording says', () => {
    const transcript = { text: 'a'.repeat(5_000) };
    const { seconds } = billOf({ ...RESULT, transcript }, 1, byTheSecond);
    expect(seconds).toBe(100);
  });

  it('leaves zero at zero', () => {
    expect(costOf({ ...RESULT, seconds: 0 }, MEASURED, byTheSecond)).toBe('0');
  });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY])('does not believe %d seconds', (seconds) => {
    expect(billOf({ ...RESULT, seconds }, MEASURED, byTheSecond).seconds).toBe(90.5);
  });

  it.each([60_000, 1e12])('does not believe %d seconds of an endpoint that takes an hour', (seconds) => {
    const hour = { ...byTheSecond, capabilities: { transcription: { max_seconds: 3_600 } } };
    expect(billOf({ ...RESULT, seconds }, MEASURED, hour)).toMatchObject({
      seconds: 90.5,
      usage: { provenance: 'estimated' },
    });
    expect(billOf({ ...RESULT, seconds: 14_400 }, MEASURED, hour).seconds).toBe(14_400);
  });

  it.each([
    { input: -1, audioInput: 0, output: 4 },
    { input: 110, audioInput: 100, output: -4 },
  ])('guesses tokens that a provider cannot have counted: %o', (tokens) => {
    const { usage } = billOf({ ...RESULT, tokens }, MEASURED, byTheToken);
    expect(usage).toMatchObject({ audioPromptTokens: 1_539, provenance: 'estimated' });
  });

  it('charges tokens, sound among them at its own price', () => {
    const tokens = { input: 110, audioInput: 100, output: 4 };
    expect(costOf({ ...RESULT, tokens }, MEASURED, byTheToken)).toBe('0.00066');
  });

  it('guesses tokens that nobody counted, so that nothing is free', () => {
    const { usage, cost } = billOf(RESULT, MEASURED, byTheToken);
    expect(usage).toMatchObject({ audioPromptTokens: 1_539, provenance: 'estimated' });
    expect(cost.totalCost).toBeGreaterThan(0n);
  });

  it('charges a share of the list price for a key of the caller, and tells the price', () => {
    const { cost } = billOf({ ...RESULT, seconds: 60 }, MEASURED, byTheSecond, parsePercent('5'));
    expect(formatUsd(cost.totalCost)).toBe('0.0000925');
    expect(formatUsd(cost.upstreamCost!)).toBe('0.00185');
  });
});

describe(mostExpensiveTranscription.name, () => {
  const mostOf = (values: Parameters<typeof aTranscription>[0], endpoint: Endpoint, outputCap: number | null = null) =>
    mostExpensiveTranscription({ transcription: aTranscription(values, MEASURED), endpoint }, outputCap);

  it('covers what a recording of that length will cost', () => {
    for (const endpoint of [byTheSecond, byTheToken]) {
      expect(mostOf({}, endpoint).cost.totalCost).toBeGreaterThanOrEqual(
        billOf(RESULT, MEASURED, endpoint).cost.totalCost,
      );
    }
  });

  it.each([
    ['keyterms', { keyterms: ['word '.repeat(1_000)] }],
    ['a prompt', { options: { acme: { prompt: 'word '.repeat(1_000) } } }],
    ['a prompt that fits no provider', { options: { acme: { prompt: 'word '.repeat(100_000) } } }],
    ['hot words in a list', { options: { acme: { hotwords: Array(1_000).fill('word ') } } }],
  ])('counts the text of %s', (_what, values) => {
    const { usage } = mostOf(values, byTheToken);
    expect(usage.promptTokens - mostOf({}, byTheToken).usage.promptTokens).toBeGreaterThan(1_000);
    expect(usage.audioPromptTokens).toBe(MEASURED * 32);
  });

  it('counts no text for another provider, and none that is not sent', () => {
    const unsent = { options: { other: { prompt: 'word '.repeat(1_000) }, acme: { unknown: 'word '.repeat(1_000) } } };
    expect(mostOf(unsent, byTheToken)).toEqual(mostOf({}, byTheToken));
  });

  it('counts the answer up to the cap that is sent, else up to the longest that the endpoint gives', () => {
    expect(mostOf({}, byTheToken, 7).usage.completionTokens).toBe(7);
    expect(mostOf({}, byTheToken).usage.completionTokens).toBe(byTheToken.maxCompletionTokens);
    const unknown = anEndpoint({ pricing: TOKEN_PRICES, maxCompletionTokens: null });
    expect(mostOf({}, unknown).usage.completionTokens).toBeGreaterThan(MEASURED * 12);
  });

  it('counts no tokens where none are sold', () => {
    expect(mostOf({}, byTheSecond).usage).toMatchObject({ promptTokens: 0, completionTokens: 0 });
  });
});

describe('the price of a second', () => {
  const deepgram = aProvider({ protocol: 'deepgram' });
  const prices = { prompt: 0n, completion: 0n, audioSecond: parseRate('0.0001') };
  const audioOptions = { keyterms: parseRate('0.00002'), redact: parseRate('0.00003'), diarize: parseRate('1') };

  it('has that of each option in use on top', () => {
    const endpoint = anEndpoint({ provider: deepgram, pricing: { ...prices, audioOptions } });
    const transcription = aTranscription({ keyterms: ['Sluice'], options: { acme: { redact: ['pci'] } } }, 10);
    const { cost } = billTranscription({ ...RESULT, seconds: 10 }, { transcription, endpoint });
    expect(formatUsd(cost.totalCost)).toBe('0.0015');
    expect(mostExpensiveTranscription({ transcription, endpoint }, null).cost).toEqual(cost);
  });

  it('counts at least as often as the provider charges it', () => {
    const endpoint = anEndpoint({ pricing: prices, capabilities: { transcription: { min_seconds: 15 } } });
    const { cost, seconds } = billOf({ ...RESULT, seconds: 1 }, 1, endpoint);
    expect({ cost: formatUsd(cost.totalCost), seconds }).toEqual({ cost: '0.0015', seconds: 1 });
    const transcription = aTranscription({}, 1);
    expect(mostExpensiveTranscription({ transcription, endpoint }, null).cost).toEqual(cost);
  });
});

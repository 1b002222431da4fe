import { parsePercent } from '../pricing/byok-fee';
import { formatUsd, parseRate } from '../pricing/money';
import { anEndpoint } from '../testing';
import { billTranscription, expectedTranscriptionCost } from './transcription-bill';

const RESULT = { transcript: { text: 'Hello, world.' }, seconds: null, tokens: null, upstreamId: null };
const MEASURED = { seconds: 90.5, isEstimated: false };
const TOKEN_PRICES = { prompt: parseRate('0.000002'), completion: parseRate('0.00001'), audio: parseRate('0.000006') };
const byTheSecond = anEndpoint({
  pricing: { prompt: 0n, completion: 0n, audioSecond: parseRate('0.000030833333333333') },
});
const byTheToken = anEndpoint({ pricing: TOKEN_PRICES });

const costOf = (...call: Parameters<typeof billTranscription>): string =>
  formatUsd(billTranscription(...call).cost.totalCost);

describe(billTranscription.name, () => {
  it('charges what the provider counted before what we measured', () => {
    expect(costOf({ ...RESULT, seconds: 60 }, MEASURED, byTheSecond)).toBe('0.00185');
    expect(billTranscription({ ...RESULT, seconds: 60 }, MEASURED, byTheSecond).usage.provenance).toBe('upstream');
  });

  it('charges the measured length to the digit, and says that it is ours', () => {
    const { cost, seconds, usage } = billTranscription(RESULT, MEASURED, byTheSecond);
    // 90.5 · 0.000030833333333333, rounded once at the pico-dollar.
    expect(formatUsd(cost.totalCost)).toBe('0.002790416667');
    expect({ seconds, provenance: usage.provenance }).toEqual({ seconds: 90.5, provenance: 'estimated' });
  });

  it('charges at least the time in which the text can be said, whatever the head of the recording says', () => {
    const transcript = { text: 'a'.repeat(5_000) };
    const { seconds } = billTranscription({ ...RESULT, transcript }, { seconds: 1, isEstimated: false }, byTheSecond);
    expect(seconds).toBe(100);
  });

  it('leaves zero at zero', () => {
    expect(costOf({ ...RESULT, seconds: 0 }, MEASURED, byTheSecond)).toBe('0');
  });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY])('does not believe %d seconds', (seconds) => {
    expect(billTranscription({ ...RESULT, seconds }, MEASURED, byTheSecond).seconds).toBe(90.5);
  });

  it('charges tokens, sound among them at its own price', () => {
    const tokens = { input: 110, audioInput: 100, output: 4 };
    expect(costOf({ ...RESULT, tokens }, MEASURED, byTheToken)).toBe('0.00066');
  });

  it('guesses tokens that nobody counted, so that nothing is free', () => {
    const { usage, cost } = billTranscription(RESULT, MEASURED, byTheToken);
    expect(usage).toMatchObject({ audioPromptTokens: 1_539, provenance: 'estimated' });
    expect(cost.totalCost).toBeGreaterThan(0n);
  });

  it('charges a share of the list price for a key of the caller, and tells the price', () => {
    const { cost } = billTranscription({ ...RESULT, seconds: 60 }, null, byTheSecond, parsePercent('5'));
    expect(formatUsd(cost.totalCost)).toBe('0.0000925');
    expect(formatUsd(cost.upstreamCost!)).toBe('0.00185');
  });
});

describe(expectedTranscriptionCost.name, () => {
  it('covers what a recording of that length will cost', () => {
    for (const endpoint of [byTheSecond, byTheToken]) {
      const held = expectedTranscriptionCost(endpoint, MEASURED.seconds);
      expect(held).toBeGreaterThanOrEqual(billTranscription(RESULT, MEASURED, endpoint).cost.totalCost);
    }
  });
});

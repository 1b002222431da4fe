import { AppError } from '@libs/errors';
import { byokCost, emptyUsage, parseRate, priceUsage, type Cost } from '@libs/inference';
import { answered, calledOff, type LinePlace } from './line-outcome';

const place: LinePlace = {
  lease: { batchNumber: 1n, number: 0, fence: 1n } as LinePlace['lease'],
  batchId: 'batch-1-00000000000000000000',
  seq: 0,
  customId: 'line-0',
};
const usage = { ...emptyUsage('upstream'), promptTokens: 10, totalTokens: 10 };
const prices = {
  prompt: parseRate('0.000001'),
  completion: parseRate('0.000002'),
  webSearch: parseRate('0.01'),
  tools: { code_interpreter: parseRate('0.03') },
};
const answer = (cost: Cost, details?: object) => ({ status: 200, body: Buffer.from('{}'), usage, cost, details });
const searched = priceUsage(prices, usage, { webSearches: 2, tools: new Map([['code_interpreter', 1]]) });
const TOOLS = { providerTools: { web_search: '0.02', code_interpreter: '0.03' }, tokensUsd: '0.00001' };

describe(answered.name, () => {
  it('notes what each tool of the provider cost, on whosever key it ran', () => {
    expect(answered(place, answer(searched, { webSearches: 2 })).usageDetails).toEqual({ webSearches: 2, ...TOOLS });
    expect(answered(place, answer(searched)).usageDetails).toEqual(TOOLS);
    expect(answered(place, answer(byokCost(searched, 50_000n))).usageDetails).toEqual(TOOLS);
  });

  it('notes nothing of a plain line', () => {
    expect(answered(place, answer(priceUsage(prices, usage)))).not.toHaveProperty('usageDetails');
  });
});

describe(calledOff.name, () => {
  it('notes the tools that are charged although there is no answer', () => {
    const error = new AppError('gone', 'The batch was cancelled');
    expect(calledOff(place, error, { usage, cost: searched }).usageDetails).toEqual(TOOLS);
  });
});

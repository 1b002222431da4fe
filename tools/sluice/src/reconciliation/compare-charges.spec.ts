import { formatUsd, parseUsd } from '@libs/inference';
import type { RecordedUsage, ReportedCost, ReportedUsage, UnpaidWork } from './charge-facts';
import { compareCharges } from './compare-charges';
import { bookOfSpec, DAY, MODEL, recordedUsage, reportedCost, reportedUsage, unpaidWork } from './testing/facts';
import { NO_TOKENS } from './token-counts';

const ROUNDING = 500_000n;

interface Facts {
  readonly usage?: readonly ReportedUsage[];
  readonly costs: readonly ReportedCost[];
  readonly recorded?: readonly RecordedUsage[];
  readonly unpaid?: readonly UnpaidWork[];
}

/** Cause and amount of each difference. */
function compare({ usage = [reportedUsage()], costs, recorded = [recordedUsage()], unpaid = [] }: Facts): string[] {
  const options = { book: bookOfSpec(), rounding: ROUNDING };
  const found = compareCharges({ usage, costs }, { usage: recorded, unpaid }, options);
  return found.map(({ cause, amount }) => `${cause} ${formatUsd(amount)}`);
}

const more = { ...NO_TOKENS, uncached: 1_001_000n, output: 100_500n };

describe(compareCharges.name, () => {
  it('finds nothing where both sides agree', () => {
    expect(compare({ costs: [reportedCost('3')] })).toEqual([]);
  });

  it('finds nothing within the rounding of the lines', () => {
    expect(compare({ costs: [reportedCost('1.0000005'), reportedCost('2.0000005')] })).toEqual([]);
  });

  it('names day, model, keys and what the cause was deduced from', () => {
    const usage = [reportedUsage({ key: 'key_2' }), reportedUsage({ key: 'key_1', tokens: NO_TOKENS, requests: 2n })];
    const recorded = [recordedUsage()];
    const unpaid = [unpaidWork({ failedAttempts: 4n })];
    const report = {
      usage: [...usage, reportedUsage({ tokens: { ...NO_TOKENS, output: 500n }, requests: 0n })],
      costs: [reportedCost('3.005')],
    };
    expect(compareCharges(report, { usage: recorded, unpaid }, { book: bookOfSpec(), rounding: ROUNDING })).toEqual([
      {
        day: DAY,
        model: MODEL,
        key: 'key_1,key_2',
        cause: 'retry',
        amount: parseUsd('0.005'),
        detail: '+2 requests, +500 output tokens in standard',
      },
    ]);
  });

  it('sees a tier that the provider served and Sluice did not price', () => {
    const usage = [
      reportedUsage({ requests: 90n, tokens: { ...NO_TOKENS, uncached: 900_000n, output: 90_000n } }),
      reportedUsage({ tier: 'priority', requests: 10n, tokens: { ...NO_TOKENS, uncached: 100_000n, output: 10_000n } }),
    ];
    expect(compare({ usage, costs: [reportedCost('3.3')] })).toEqual(['tier 0.3']);
  });

  it('sees a tier that Sluice priced and the provider did not serve', () => {
    const recorded = [
      recordedUsage({
        requests: 90n,
        tokens: { ...NO_TOKENS, uncached: 900_000n, output: 90_000n },
        cost: parseUsd('2.7'),
      }),
      recordedUsage({
        tier: 'priority',
        requests: 10n,
        tokens: { ...NO_TOKENS, uncached: 100_000n, output: 10_000n },
        cost: parseUsd('0.6'),
      }),
    ];
    expect(compare({ recorded, costs: [reportedCost('3')] })).toEqual(['tier -0.3']);
  });

  it('sees prompts that the provider priced as long', () => {
    const usage = [
      reportedUsage({ requests: null, tokens: { ...NO_TOKENS, uncached: 700_000n, output: 90_000n } }),
      reportedUsage({ isLong: true, requests: null, tokens: { ...NO_TOKENS, uncached: 300_000n, output: 10_000n } }),
    ];
    expect(compare({ usage, costs: [reportedCost('3.7')] })).toEqual(['long_context 0.7']);
  });

  it('sees cache writes that Sluice took for plain input', () => {
    const usage = [
      reportedUsage({ tokens: { ...NO_TOKENS, uncached: 800_000n, cacheWrite1h: 200_000n, output: 100_000n } }),
    ];
    expect(compare({ usage, costs: [reportedCost('3.4')] })).toEqual(['cache_write 0.4']);
  });

  it('sees cache writes in short and long prompts of one day', () => {
    const tokens = (write: bigint) => ({ ...NO_TOKENS, uncached: 500_000n - write, cacheWrite1h: write });
    const usage = [0n, 1n].map((n) =>
      reportedUsage({ isLong: n === 1n, requests: null, tokens: tokens(100_000n + n) }),
    );
    const recorded = [false, true].map((isLong) =>
      recordedUsage({ isLong, tokens: tokens(0n), cost: parseUsd(isLong ? '2' : '1') }),
    );
    // Long prompts have no rate of their own for cache writes: 4 USD per million, as for other input.
    expect(compare({ usage, recorded, costs: [reportedCost('3.2')] })).toEqual(['cache_write 0.2']);
  });

  it('sees cache writes at another rate by their own line', () => {
    const tokens = { ...NO_TOKENS, uncached: 500_000n, cacheWrite5m: 500_000n, output: 100_000n };
    const costs = [
      reportedCost('1', { tokenClass: 'uncached' }),
      reportedCost('2', { tokenClass: 'cacheWrite5m' }),
      reportedCost('1', { tokenClass: 'output' }),
    ];
    const recorded = [recordedUsage({ tokens, cost: parseUsd('3.25') })];
    expect(compare({ usage: [reportedUsage({ tokens })], recorded, costs })).toEqual(['cache_write 0.75']);
  });

  it('tells retries from abandoned calls by what Sluice knows of the day', () => {
    const usage = [reportedUsage({ requests: 101n, tokens: more })];
    const costs = [reportedCost('3.007')];
    expect(compare({ usage, costs, unpaid: [unpaidWork({ failedAttempts: 3n })] })).toEqual(['retry 0.007']);
    expect(compare({ usage, costs, unpaid: [unpaidWork({ abandonedCalls: 1n })] })).toEqual(['abandoned_call 0.007']);
  });

  it('guesses nothing where a retry and an abandoned call both fit', () => {
    const usage = [reportedUsage({ requests: 101n, tokens: more })];
    const unpaid = [unpaidWork({ failedAttempts: 3n, abandonedCalls: 1n })];
    expect(compare({ usage, costs: [reportedCost('3.007')], unpaid })).toEqual(['unknown 0.007']);
  });

  it('takes more requests than there were failures for no retry', () => {
    const usage = [reportedUsage({ requests: 105n, tokens: more })];
    const unpaid = [unpaidWork({ failedAttempts: 3n })];
    expect(compare({ usage, costs: [reportedCost('3.007')], unpaid })).toEqual(['unknown 0.007']);
  });

  it('sees a batch of which Sluice has no results', () => {
    const lost = reportedUsage({
      isBatch: true,
      requests: 10n,
      tokens: { ...NO_TOKENS, uncached: 10_000n, output: 1_000n },
    });
    const facts = { usage: [reportedUsage(), lost], costs: [reportedCost('3'), reportedCost('0.015')] };
    expect(compare({ ...facts, unpaid: [unpaidWork({ orphanRequests: 10n })] })).toEqual(['orphan_batch 0.015']);
    expect(compare(facts)).toEqual(['unknown 0.015']);
  });

  it('sees tokens that Sluice had estimated', () => {
    const usage = [reportedUsage({ tokens: { ...NO_TOKENS, uncached: 1_000_000n, output: 99_000n } })];
    const recorded = [recordedUsage({ estimated: 2n })];
    expect(compare({ usage, recorded, costs: [reportedCost('2.99')] })).toEqual(['estimated_usage -0.01']);
  });

  it('sees uses of a tool that Sluice did not record', () => {
    const recorded = [recordedUsage({ cost: parseUsd('3.02'), toolCost: parseUsd('0.02') })];
    const search = (usd: string): ReportedCost => reportedCost(usd, { model: null, tool: 'web_search' });
    expect(compare({ recorded, costs: [reportedCost('3'), search('0.02')] })).toEqual([]);
    expect(compare({ recorded, costs: [reportedCost('3'), search('0.05')] })).toEqual(['tool_use 0.03']);
    expect(compare({ recorded, costs: [reportedCost('3'), search('0.054')] })).toEqual(['unknown 0.034']);
    expect(compare({ recorded, costs: [reportedCost('3')] })).toEqual(['tool_use -0.02']);
  });

  it('sees another rate than the catalogue has', () => {
    const costs = [reportedCost('2', { tokenClass: 'uncached' }), reportedCost('1.2', { tokenClass: 'output' })];
    expect(compare({ costs })).toEqual(['price 0.2']);
  });

  it('does not take an odd amount for a rate', () => {
    const costs = [reportedCost('2', { tokenClass: 'uncached' }), reportedCost('1.200007', { tokenClass: 'output' })];
    expect(compare({ costs })).toEqual(['unknown 0.200007']);
  });

  it('sees calls that the provider does not have', () => {
    expect(compare({ usage: [], costs: [] })).toEqual(['missing_at_provider -3']);
    const usage = [reportedUsage({ requests: 99n, tokens: { ...NO_TOKENS, uncached: 999_000n, output: 99_500n } })];
    expect(compare({ usage, costs: [reportedCost('2.993')] })).toEqual(['missing_at_provider -0.007']);
  });

  it('gives several causes of one day and model if they add up', () => {
    const usage = [
      reportedUsage({ requests: 91n, tokens: { ...NO_TOKENS, uncached: 901_000n, output: 90_500n } }),
      reportedUsage({ tier: 'priority', requests: 10n, tokens: { ...NO_TOKENS, uncached: 100_000n, output: 10_000n } }),
    ];
    const unpaid = [unpaidWork({ failedAttempts: 1n })];
    expect(compare({ usage, unpaid, costs: [reportedCost('3.307')] })).toEqual(['tier 0.3', 'retry 0.007']);
  });

  it('gives none of several causes if they do not add up', () => {
    const usage = [reportedUsage({ requests: 101n, tokens: more })];
    const unpaid = [unpaidWork({ failedAttempts: 1n })];
    expect(compare({ usage, unpaid, costs: [reportedCost('3.017')] })).toEqual(['unknown 0.017']);
  });

  it('takes the dated name of a model for the name that Sluice asked for', () => {
    const dated = `${MODEL}-2026-04-14`;
    expect(compare({ usage: [reportedUsage({ model: dated })], costs: [reportedCost('3', { model: dated })] })).toEqual(
      [],
    );
  });

  it('does not hide charges for a model that Sluice never called', () => {
    const stranger = { model: 'other', tokens: { ...NO_TOKENS, output: 10n } };
    const costs = [reportedCost('3'), reportedCost('7', { model: 'other' })];
    expect(compare({ usage: [reportedUsage(), reportedUsage(stranger)], costs })).toEqual(['unknown 7']);
    expect(compare({ costs: [reportedCost('3'), reportedCost('1', { model: null })] })).toEqual(['unknown 1']);
  });
});

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
  const found = compareCharges({ usage, costs }, { usage: recorded, unpaid, tools: [] }, options);
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
    expect(
      compareCharges(report, { usage: recorded, unpaid, tools: [] }, { book: bookOfSpec(), rounding: ROUNDING }),
    ).toEqual([
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

  describe('where the report does not count requests', () => {
    const counted = (extra: object) => [
      reportedUsage({ requests: null }),
      reportedUsage({ requests: null, tokens: { ...NO_TOKENS, ...extra } }),
    ];

    it.each([
      ['failedAttempts', 'retry'],
      ['abandonedCalls', 'abandoned_call'],
    ])('takes tokens that fit the known %s for them, and no more', (known, cause) => {
      const unpaid = [unpaidWork({ [known]: 2n })];
      const fitting = counted({ uncached: 40_000n, output: 4_000n });
      expect(compare({ usage: fitting, costs: [reportedCost('3.12')], unpaid })).toEqual([`${cause} 0.12`]);
      const longer = counted({ uncached: 40_001n, output: 4_000n });
      expect(compare({ usage: longer, costs: [reportedCost('3.120002')], unpaid })).toEqual(['unknown 0.120002']);
      const wordier = counted({ uncached: 40_000n, output: 4_001n });
      expect(compare({ usage: wordier, costs: [reportedCost('3.12001')], unpaid })).toEqual(['unknown 0.12001']);
      const promptless = counted({ output: 4_000n });
      expect(compare({ usage: promptless, costs: [reportedCost('3.04')], unpaid })).toEqual(['unknown 0.04']);
    });

    it('takes no more tokens for those of a lost order than it had lines for', () => {
      const unpaid = [unpaidWork({ orphanRequests: 2n })];
      const lost = (uncached: bigint) => [
        reportedUsage({ requests: null }),
        reportedUsage({ requests: null, isBatch: true, tokens: { ...NO_TOKENS, uncached } }),
      ];
      expect(compare({ usage: lost(40_000n), costs: [reportedCost('3.04')], unpaid })).toEqual(['orphan_batch 0.04']);
      expect(compare({ usage: lost(50_000n), costs: [reportedCost('3.05')], unpaid })).toEqual(['unknown 0.05']);
    });

    it('takes no more tokens for estimated ones than the estimated calls may have had', () => {
      const recorded = [recordedUsage({ estimated: 1n })];
      const usage = (output: bigint) => counted({ output });
      expect(compare({ usage: usage(2_000n), recorded, costs: [reportedCost('3.02')] })).toEqual([
        'estimated_usage 0.02',
      ]);
      expect(compare({ usage: usage(3_000n), recorded, costs: [reportedCost('3.03')] })).toEqual(['unknown 0.03']);
    });
  });

  it('takes the retries of two tiers together for no more than failed', () => {
    const priority = recordedUsage({ tier: 'priority', cost: parseUsd('6') });
    const usage = [
      reportedUsage({ requests: 101n, tokens: more }),
      reportedUsage({ tier: 'priority', requests: 101n, tokens: more }),
    ];
    const facts = { usage, recorded: [recordedUsage(), priority], costs: [reportedCost('9.021')] };
    expect(compare({ ...facts, unpaid: [unpaidWork({ failedAttempts: 2n })] })).toEqual(['retry 0.021']);
    expect(compare({ ...facts, unpaid: [unpaidWork({ failedAttempts: 1n })] })).toEqual(['unknown 0.021']);
  });

  it('takes more requests than there were failures for no retry', () => {
    const usage = [reportedUsage({ requests: 105n, tokens: more })];
    const unpaid = [unpaidWork({ failedAttempts: 3n })];
    expect(compare({ usage, costs: [reportedCost('3.007')], unpaid })).toEqual(['unknown 0.007']);
  });

  it.each([
    ['input that fits into no context of so few retries', { uncached: 2_000_001n }, { failedAttempts: 2n }, false],
    ['an output that long', { uncached: 1n, output: 2_000_001n }, { failedAttempts: 2n }, false],
    ['that of an abandoned call', { uncached: 2_000_001n }, { abandonedCalls: 2n }, false],
    ['that of lines of a lost order', { uncached: 2_000_001n }, { orphanRequests: 2n }, true],
  ])('names no cause for %s', (_what, extra, known, isBatch) => {
    const tokens = { ...NO_TOKENS, ...extra };
    const usage = [reportedUsage(), reportedUsage({ requests: 2n, tokens, isBatch })];
    expect(compare({ usage, costs: [reportedCost('50')], unpaid: [unpaidWork(known)] })).toEqual(['unknown 47']);
  });

  it('names no cause where more tokens are gone or moved than the recorded calls had', () => {
    const gone = [reportedUsage({ requests: 99n, tokens: { ...NO_TOKENS, uncached: 979_999n, output: 100_000n } })];
    expect(compare({ usage: gone, costs: [reportedCost('2.959998')] })).toEqual(['unknown -0.040002']);
    const moved = [
      reportedUsage({ requests: 90n, tokens: { ...NO_TOKENS, uncached: 799_999n, output: 90_000n } }),
      reportedUsage({ tier: 'priority', requests: 10n, tokens: { ...NO_TOKENS, uncached: 200_001n, output: 10_000n } }),
    ];
    expect(compare({ usage: moved, costs: [reportedCost('3.500002')] })).toEqual([
      'unknown 1.000004',
      'unknown -0.500002',
    ]);
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

  describe('where differences of one day and model come to nothing together', () => {
    it('finds each of them by its cause', () => {
      const usage = [
        reportedUsage({ requests: 100n, tokens: { ...NO_TOKENS, uncached: 1_000_000n, output: 99_300n } }),
        reportedUsage({ isBatch: true, requests: 7n, tokens: { ...NO_TOKENS, uncached: 7_000n } }),
      ];
      const facts = { usage, costs: [reportedCost('3')] };
      const recorded = [recordedUsage({ estimated: 1n })];
      const unpaid = [unpaidWork({ orphanRequests: 7n })];
      expect(compare({ ...facts, recorded, unpaid })).toEqual(['orphan_batch 0.007', 'estimated_usage -0.007']);
    });

    it('finds each of them without a cause', () => {
      const usage = [reportedUsage({ tokens: { ...NO_TOKENS, uncached: 1_005_000n, output: 99_000n } })];
      expect(compare({ usage, costs: [reportedCost('3')] })).toEqual(['unknown 0.01', 'unknown -0.01']);
    });

    it('finds nothing where input is in other classes at the same price', () => {
      const usage = [reportedUsage({ tier: 'priority' })];
      const tokens = { ...NO_TOKENS, uncached: 900_000n, cached: 100_000n, output: 100_000n };
      const recorded = [recordedUsage({ tier: 'priority', tokens, cost: parseUsd('6') })];
      expect(compare({ usage, recorded, costs: [reportedCost('6')] })).toEqual([]);
    });

    it('finds those of two tiers', () => {
      const cell = (tier: string, requests: bigint, uncached: bigint) =>
        reportedUsage({ tier, requests, tokens: { ...NO_TOKENS, uncached } });
      const row = (tier: string, requests: bigint, uncached: bigint, usd: string) =>
        recordedUsage({ tier, requests, tokens: { ...NO_TOKENS, uncached }, cost: parseUsd(usd) });
      const recorded = [
        row('standard', 100n, 1_000_000n, '2'),
        row('priority', 10n, 100_000n, '0.4'),
        row('flex', 40n, 400_000n, '0.4'),
      ];
      // Ten requests were priced as priority and were standard; twenty were priced as flex and were standard.
      const usage = [cell('standard', 130n, 1_300_000n), cell('flex', 20n, 200_000n)];
      expect(compare({ usage, recorded, costs: [reportedCost('2.8')] })).toEqual(['tier 0.2', 'tier -0.2']);
    });

    it('finds those of cache writes in prompts of two lengths', () => {
      const long = { isLong: true, requests: 2n };
      const recorded = [
        recordedUsage(),
        recordedUsage({ ...long, tokens: { ...NO_TOKENS, uncached: 500_000n }, cost: parseUsd('2') }),
      ];
      const usage = [
        reportedUsage({ tokens: { ...NO_TOKENS, uncached: 700_000n, cacheWrite5m: 300_000n, output: 100_000n } }),
        reportedUsage({ ...long, tokens: { ...NO_TOKENS, uncached: 400_000n, cacheWrite5m: 100_000n } }),
      ];
      expect(compare({ usage, recorded, costs: [reportedCost('5')] })).toEqual([
        'cache_write 0.15',
        'cache_write -0.15',
      ]);
    });

    it('finds those of the rates of two classes of tokens', () => {
      const costs = [reportedCost('2.1', { tokenClass: 'uncached' }), reportedCost('0.9', { tokenClass: 'output' })];
      expect(compare({ costs })).toEqual(['price 0.1', 'price -0.1']);
      const odd = [
        reportedCost('2.100007', { tokenClass: 'uncached' }),
        reportedCost('0.899993', { tokenClass: 'output' }),
      ];
      expect(compare({ costs: odd })).toEqual(['unknown 0.100007', 'unknown -0.100007']);
    });

    it('finds those of two keys', () => {
      const half = { requests: 50n, tokens: { ...NO_TOKENS, uncached: 500_000n, output: 50_000n } };
      const report = {
        usage: [reportedUsage({ ...half, key: 'key_1' }), reportedUsage({ ...half, key: 'key_2' })],
        costs: [reportedCost('1.9', { key: 'key_1' }), reportedCost('1.1', { key: 'key_2' })],
      };
      const options = { book: bookOfSpec(), rounding: ROUNDING };
      const recorded = { usage: [recordedUsage()], unpaid: [], tools: [] };
      expect(compareCharges(report, recorded, options).map(({ key, cause, amount }) => [key, cause, amount])).toEqual([
        ['key_1', 'unknown', parseUsd('0.4')],
        ['key_2', 'unknown', parseUsd('-0.4')],
      ]);
      const rates = [
        reportedCost('1.9', { key: 'key_1', tokenClass: 'uncached' }),
        reportedCost('0.5', { key: 'key_1', tokenClass: 'output' }),
        reportedCost('0.1', { key: 'key_2', tokenClass: 'uncached' }),
        reportedCost('0.5', { key: 'key_2', tokenClass: 'output' }),
      ];
      expect(
        compareCharges({ ...report, costs: rates }, recorded, options).map(({ key, cause, amount }) => [
          key,
          cause,
          amount,
        ]),
      ).toEqual([
        ['key_1', 'price', parseUsd('0.9')],
        ['key_2', 'price', parseUsd('-0.9')],
      ]);
      const ofOne = [
        reportedCost('1.2', { key: 'key_1', tokenClass: 'uncached' }),
        reportedCost('0.3', { key: 'key_1', tokenClass: 'output' }),
        reportedCost('1', { key: 'key_2', tokenClass: 'uncached' }),
        reportedCost('0.5', { key: 'key_2', tokenClass: 'output' }),
      ];
      const found = compareCharges({ ...report, costs: ofOne }, recorded, options);
      expect(found.map(({ key, cause, amount }) => [key, cause, amount])).toEqual([
        ['key_1', 'unknown', parseUsd('0.2')],
        ['key_1', 'unknown', parseUsd('-0.2')],
      ]);
    });
  });

  it('judges keys by the catalogue only where it has the prices of the record', () => {
    const usage = [
      reportedUsage({ requests: 50n, tokens: { ...NO_TOKENS, uncached: 1_000_000n }, key: 'key_1' }),
      reportedUsage({ requests: 50n, tokens: { ...NO_TOKENS, output: 100_000n }, key: 'key_2' }),
    ];
    const recorded = [
      recordedUsage({ tokens: { ...NO_TOKENS, uncached: 1_000_000n, output: 100_000n }, cost: parseUsd('3.5') }),
    ];
    // When the calls were made, the catalogue had 1.20 USD per million tokens in and 23 out.
    const costs = [reportedCost('1.2', { key: 'key_1' }), reportedCost('2.3', { key: 'key_2' })];
    expect(compare({ usage, costs, recorded })).toEqual([]);
  });

  it('does not say that prompts of calls of several turns were long', () => {
    const long = { ...NO_TOKENS, uncached: 300_000n, output: 10_000n };
    const short = { ...NO_TOKENS, uncached: 700_000n, output: 90_000n };
    const usage = [
      reportedUsage({ requests: null, tokens: short }),
      reportedUsage({ isLong: true, requests: null, tokens: long }),
    ];
    const turns = recordedUsage({ isLong: null, requests: 3n, tokens: long, cost: parseUsd('0.7') });
    const recorded = [recordedUsage({ requests: 97n, tokens: short, cost: parseUsd('2.3') }), turns];
    expect(compare({ usage, recorded, costs: [reportedCost('3')] })).toEqual([]);
    expect(compare({ usage, recorded, costs: [reportedCost('3.7')] })).toEqual(['unknown 0.7']);
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
    const nameless = (item: string, usd: string) => reportedCost(usd, { model: null, item });
    expect(compare({ costs: [reportedCost('3'), nameless('training', '1')] })).toEqual(['unknown 1']);
    const opposed = [nameless('training', '1'), nameless('training', '0.5'), nameless('credit', '-1.5')];
    expect(compare({ costs: [reportedCost('3'), ...opposed] })).toEqual(['unknown 1.5', 'unknown -1.5']);
  });
});

import { parseUsd } from '@libs/inference';
import type { CountedDay, RecordedDay, RecordedWork } from '@libs/persistence';
import type { RecordedCharges, RecordedUsage, UnpaidWork } from './charge-facts';
import { tierOf, type PriceBook } from './price-book';

/** Returns the record under the provider's names and in the classes that it charges by. */
export function recordedCharges(work: RecordedWork, book: PriceBook): RecordedCharges {
  const nothing = { failedAttempts: 0n, abandonedCalls: 0n, orphanRequests: 0n };
  const byModel = (rows: readonly CountedDay[], counted: (count: bigint) => Partial<UnpaidWork>): UnpaidWork[] =>
    rows.flatMap(({ day, model, count }) =>
      book.modelsOf(model).map((name) => ({ day, model: name, ...nothing, ...counted(BigInt(count)) })),
    );
  const orphans = work.orphans.map(({ day, model, count }) => ({
    day,
    model,
    ...nothing,
    orphanRequests: BigInt(count),
  }));
  return {
    usage: work.usage.map(usageOf),
    tools: work.tools.map(({ day, model, tool, costUsd }) => ({ day, model, tool, cost: parseUsd(costUsd) })),
    unpaid: [
      ...byModel(work.failed, (failedAttempts) => ({ failedAttempts })),
      ...byModel(work.abandoned, (abandonedCalls) => ({ abandonedCalls })),
      ...orphans,
    ],
  };
}

function usageOf(row: RecordedDay): RecordedUsage {
  const [prompt, cached, writes, hourWrites] = [
    BigInt(row.promptTokens),
    BigInt(row.cachedTokens),
    BigInt(row.cacheWriteTokens),
    BigInt(row.cacheWrite1hTokens),
  ];
  const { day, model, isLong, isBatch } = row;
  return {
    day,
    model,
    tier: tierOf(row.tier === 'batch' ? null : row.tier),
    isLong,
    isBatch,
    requests: BigInt(row.requests),
    estimated: BigInt(row.estimated),
    tokens: {
      uncached: prompt - cached - writes,
      cached,
      cacheWrite5m: writes - hourWrites,
      cacheWrite1h: hourWrites,
      output: BigInt(row.completionTokens),
    },
    longestPrompt: BigInt(row.longestPrompt ?? 0),
    longestOutput: BigInt(row.longestCompletion ?? 0),
    cost: parseUsd(row.costUsd),
    toolCost: parseUsd(row.toolsUsd),
  };
}

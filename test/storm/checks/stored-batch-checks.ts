import { amountOf, sumOf, textOf } from '../../support/decimal';
import type { Evidence, StoredBatch, StoredHoldRow, StoredResult } from '../evidence';
import { dueTokens, priceOf } from './due';
import type { Check } from './violation';

const TERMINAL = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** What the database holds of each batch agrees with itself, whether or not a caller saw its acceptance. */
export const storedBatches: Check = ({ dump, batches }) => {
  const results = Map.groupBy(dump.results, ({ batchId }) => batchId);
  const holds = Map.groupBy(dump.holds, ({ id }) => id);
  const deletions = new Set(batches.filter(({ wasDeleted }) => wasDeleted).map(({ id }) => id));
  return dump.batches
    .filter(({ status }) => status !== 'receiving')
    .flatMap((batch) => {
      const rows = results.get(batch.id) ?? [];
      const stray = batch.deleted && !deletions.has(batch.id) ? [`${batch.id} was deleted, and no caller asked`] : [];
      return [...stray, ...wrongRow(batch, rows), ...wrongHold(batch, holds.get(batch.id) ?? [], rows)];
    })
    .map((what) => ({ promise: 'a batch keeps its promises', what }));
};

function wrongRow(batch: StoredBatch, results: readonly StoredResult[]): string[] {
  const { id, status, deleted, total, completed, failed, errorMessage } = batch;
  if (!TERMINAL.has(status)) return [`${id} is ${status}`];
  const wrong = status === 'failed' ? [`${id} failed: ${errorMessage}`] : [];
  if ((completed ?? 0) + (failed ?? 0) !== total) wrong.push(`${id}: ${completed} + ${failed} of ${total}`);
  return deleted ? wrong : [...wrong, ...wrongCounts(batch, results)];
}

/** Lines that never ran count as failed and have no row, except in a batch that ran to its end. */
function wrongCounts({ id, status, completed, failed }: StoredBatch, results: readonly StoredResult[]): string[] {
  const answered = results.filter((result) => !result.failed).length;
  const refused = results.length - answered;
  const wrong: string[] = [];
  if (answered !== completed) wrong.push(`${id} is ${status}: ${answered} answers are stored, it counts ${completed}`);
  if (refused > (failed ?? 0) || (status === 'completed' && refused !== failed)) {
    wrong.push(`${id} is ${status}: ${refused} errors are stored, it counts ${failed}`);
  }
  return wrong;
}

/** `holds` checks that it is resolved. The results of a deleted batch are gone, so nothing is left to compare. */
function wrongHold({ id, deleted }: StoredBatch, found: readonly StoredHoldRow[], results: readonly StoredResult[]) {
  if (found.length !== 1) return [`${id} has ${found.length} holds`];
  const settled = amountOf(found[0]!.settledUsd);
  const spent = sumOf(results.map(({ costUsd }) => amountOf(costUsd)));
  return deleted || settled === spent
    ? []
    : [`${id}: its hold settled ${textOf(settled)}, its results cost ${textOf(spent)}`];
}

/**
 * An answer costs what its stored usage says, and the usage is the prompt's. An error costs nothing, except where the
 * call was called off: that costs its estimated usage.
 */
export const storedResults: Check = (evidence) => {
  const tokens = tokensByLine(evidence);
  return evidence.dump.results.flatMap((result) => {
    const wrong = wrongResult(result, tokens.get(result.customId), evidence.prices);
    if (wrong === null) return [];
    return [{ promise: 'a batch keeps its promises', what: `${result.batchId}, line ${result.customId}: ${wrong}` }];
  });
};

type Tokens = Pick<StoredResult, 'promptTokens' | 'completionTokens'>;

function tokensByLine({ batchSubmissions }: Evidence): Map<string, Tokens> {
  return new Map(
    batchSubmissions.flatMap(({ endpoint, lines }) =>
      lines.map(({ customId, prompt }) => [customId, dueTokens(prompt, endpoint === '/v1/embeddings')] as const),
    ),
  );
}

/** Returns null for a sound result. @param due undefined for a line of no submission, which `acceptances` finds */
function wrongResult(result: StoredResult, due: Tokens | undefined, prices: Evidence['prices']): string | null {
  const cost = amountOf(result.costUsd);
  if (result.failed && !result.calledOff) return cost === 0n ? null : `an error that cost ${result.costUsd}`;
  const price = priceOf(result, prices);
  if (cost !== price) return `cost ${result.costUsd} instead of ${textOf(price)}`;
  const { promptTokens, completionTokens } = (result.calledOff ? null : due) ?? result;
  if (promptTokens === result.promptTokens && completionTokens === result.completionTokens) return null;
  return `${result.promptTokens} and ${result.completionTokens} tokens instead of ${promptTokens} and ${completionTokens}`;
}

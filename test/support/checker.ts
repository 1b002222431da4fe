import { amountOf, sumOf, textOf, type Amount } from './decimal';
import type { BatchHistory, StoredItem } from './history';
import { answerTo, embeddingOf, tokensOf } from './upstream-answer';
import type { ResultBody } from './client';

type AnswerHistory = Pick<BatchHistory, 'endpoint' | 'lines' | 'batch' | 'calls'>;

/** A promise that was broken. */
export interface Violation {
  readonly promise: Promised;
  /** Which line, row or number, and what it should have been. */
  readonly what: string;
}

export type Promised =
  | 'an accepted batch exists'
  | 'one result for each request'
  | 'a response or an error, never both'
  | 'counts agree with the results'
  | 'statuses follow the allowed path'
  | 'a finished batch leaves nothing open'
  | 'finalized when terminal'
  | 'the books balance'
  | 'one charge for each billable line'
  | 'usage is the exact sum of its lines'
  | 'lines cost what the price list says'
  | 'the hold is resolved'
  | 'an answer belongs to its request'
  | 'nothing is answered that was not asked';

const TERMINAL = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** What may come after a status, directly or, between two looks, indirectly. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  validating: ['in_progress', 'finalizing', 'cancelling', 'completed', 'failed', 'expired', 'cancelled'],
  in_progress: ['finalizing', 'cancelling', 'completed', 'failed', 'expired', 'cancelled'],
  finalizing: ['cancelling', 'completed', 'failed', 'cancelled'],
  cancelling: ['cancelled'],
  completed: [],
  failed: [],
  expired: [],
  cancelled: [],
};

/** Every broken promise of a batch that has come to its end; an empty list is what every test wants. */
export function findViolations(history: BatchHistory): Violation[] {
  if (history.batch === null) return [violation('an accepted batch exists', 'the batch is not found')];
  return [
    ...findAnswerViolations(history),
    ...wrongCourse(history),
    ...wrongCharges(history),
    ...wrongSums(history),
    ...wrongBooks(history),
  ];
}

/** Those that show in what a caller reads; of a batch that was deleted nothing else is left. */
export function findAnswerViolations(history: AnswerHistory): Violation[] {
  return [...wrongResults(history), ...wrongCounts(history), ...wrongAnswers(history)];
}

/** Answers that were asked for again although one had been given: what kills cost, never what a caller pays. */
export function repeatedAnswers({ calls }: Pick<BatchHistory, 'calls'>): number {
  const answered = new Map<string, number>();
  for (const { marker, behaviour } of calls) {
    if (behaviour === 'answer') answered.set(marker, (answered.get(marker) ?? 0) + 1);
  }
  return [...answered.values()].reduce((repeated, times) => repeated + times - 1, 0);
}

function violation(promise: Promised, what: string): Violation {
  return { promise, what };
}

function resultsOf({ batch }: AnswerHistory): readonly ResultBody[] {
  return batch?.results ?? [];
}

function timesOf(names: readonly string[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const name of names) times.set(name, (times.get(name) ?? 0) + 1);
  return times;
}

function wrongResults(history: AnswerHistory): Violation[] {
  const results = resultsOf(history);
  const found: Violation[] = [];
  const asked = timesOf(history.lines.map(({ customId }) => customId));
  const answered = timesOf(results.map(({ custom_id: customId }) => customId));
  for (const [customId, times] of asked) {
    const got = answered.get(customId) ?? 0;
    if (got !== times) found.push(violation('one result for each request', `${customId}: ${got} results`));
  }
  for (const customId of answered.keys()) {
    if (!asked.has(customId)) found.push(violation('one result for each request', `${customId}: never requested`));
  }
  for (const { custom_id: customId, response, error } of results) {
    if ((response === null) === (error === null)) {
      found.push(violation('a response or an error, never both', `${customId}: ${response ? 'both' : 'neither'}`));
    }
  }
  return found;
}

function wrongCounts(history: AnswerHistory): Violation[] {
  const { total, completed, failed } = history.batch!.request_counts;
  const results = resultsOf(history);
  const expected = {
    total: history.lines.length,
    completed: results.filter(({ error }) => error === null).length,
    failed: results.filter(({ error }) => error !== null).length,
  };
  const agrees = total === expected.total && completed === expected.completed && failed === expected.failed;
  if (agrees && completed + failed === total) return [];
  const seen = JSON.stringify({ total, completed, failed });
  return [violation('counts agree with the results', `${seen}, but the results say ${JSON.stringify(expected)}`)];
}

function wrongCourse({ batch, statuses, books }: BatchHistory): Violation[] {
  const found: Violation[] = [];
  const isAllowed = (status: string, index: number): boolean => {
    const before = statuses[index - 1];
    return before === undefined ? status in LATER : status === before || LATER[before]?.includes(status) === true;
  };
  if (!statuses.every(isAllowed)) {
    found.push(violation('statuses follow the allowed path', statuses.join(' → ')));
  }
  const isTerminal = TERMINAL.has(batch!.status);
  if (!isTerminal) found.push(violation('a finished batch leaves nothing open', `it is ${batch!.status}`));
  if (isTerminal !== (batch!.finalized_at !== null)) {
    found.push(violation('finalized when terminal', `${batch!.status}, finalized_at ${batch!.finalized_at}`));
  }
  if (books.segments > 0) found.push(violation('a finished batch leaves nothing open', `${books.segments} segments`));
  if (books.outboxRows > 0) {
    found.push(violation('a finished batch leaves nothing open', `${books.outboxRows} unsent messages`));
  }
  return found;
}

function wrongAnswers(history: AnswerHistory): Violation[] {
  const prompts = new Map(history.lines.map(({ customId, prompt }) => [customId, prompt]));
  const answered = new Set(history.calls.filter(({ behaviour }) => behaviour === 'answer').map(({ marker }) => marker));
  const markers = new Map(history.lines.map(({ customId, marker }) => [customId, marker]));
  const found: Violation[] = [];
  for (const { custom_id: customId, response } of resultsOf(history)) {
    const prompt = prompts.get(customId);
    if (response === null || prompt === undefined) continue;
    const given = JSON.stringify(answerIn(history.endpoint, response.body));
    const due = JSON.stringify(history.endpoint === '/v1/embeddings' ? embeddingOf(prompt) : answerTo(prompt));
    if (given !== due) found.push(violation('an answer belongs to its request', `${customId}: ${given}`));
    if (!answered.has(markers.get(customId) ?? '')) {
      found.push(violation('nothing is answered that was not asked', `${customId}: the upstream never answered it`));
    }
  }
  return found;
}

function answerIn(endpoint: BatchHistory['endpoint'], body: Readonly<Record<string, unknown>>): unknown {
  if (endpoint === '/v1/embeddings') return (body as { data?: { embedding?: unknown }[] }).data?.[0]?.embedding;
  return (body as { choices?: { message?: { content?: unknown } }[] }).choices?.[0]?.message?.content;
}

/** What the line costs by its prompt and the price list, worked out without looking at what was stored. */
function dueFor({ endpoint, prices }: BatchHistory, prompt: string): Amount {
  const { promptTokens, completionTokens } = tokensOf(prompt);
  const generated = endpoint === '/v1/embeddings' ? 0 : completionTokens;
  return amountOf(prices.prompt) * BigInt(promptTokens) + amountOf(prices.completion) * BigInt(generated);
}

function wrongCharges(history: BatchHistory): Violation[] {
  const { items, transfers } = history.books;
  const charges = Map.groupBy(
    transfers.filter(({ kind }) => kind === 'charge'),
    ({ reference }) => reference,
  );
  const generations = timesOf(items.map(({ generationId }) => generationId ?? 'none'));
  const shared = [...generations].filter(([, times]) => times > 1);
  const foreign = transfers.filter(({ kind }) => kind !== 'charge');
  return [
    ...wrongPrices(history),
    ...items.flatMap((item) => wrongCharge(item, charges.get(item.generationId ?? '') ?? [])),
    ...shared.map(([id, times]) => violation('one charge for each billable line', `${id}: ${times} lines share it`)),
    ...foreign.map(({ reference, kind }) => violation('one charge for each billable line', `${reference}: a ${kind}`)),
  ];
}

function wrongPrices(history: BatchHistory): Violation[] {
  const prompts = new Map(history.lines.map(({ customId, prompt }) => [customId, prompt]));
  return history.books.items.flatMap((item) => {
    const { customId, costUsd } = item;
    const due = item.failed ? dueUnanswered(history, item) : dueFor(history, prompts.get(customId) ?? '');
    if (amountOf(costUsd) === due) return [];
    return [violation('lines cost what the price list says', `${customId}: ${costUsd} instead of ${textOf(due)}`)];
  });
}

/** The call of a cancelled batch that was under way is charged by its estimated usage; any other failure is free. */
function dueUnanswered({ prices, batch }: BatchHistory, item: StoredItem): Amount {
  if (!item.calledOff || batch!.status !== 'cancelled') return 0n;
  return (
    amountOf(prices.prompt) * BigInt(item.promptTokens) + amountOf(prices.completion) * BigInt(item.completionTokens)
  );
}

function wrongCharge(item: StoredItem, charges: readonly { readonly amountUsd: string }[]): Violation[] {
  const cost = amountOf(item.costUsd);
  const isBilledRight =
    cost === 0n ? charges.length === 0 : charges.length === 1 && amountOf(charges[0]!.amountUsd) === cost;
  if (isBilledRight) return [];
  const amounts = charges.map(({ amountUsd }) => amountUsd).join(', ') || 'nothing';
  return [violation('one charge for each billable line', `${item.customId}: ${amounts} charged for ${item.costUsd}`)];
}

function wrongSums(history: BatchHistory): Violation[] {
  const { batch, books } = history;
  const found: Violation[] = [];
  const wrong = (what: string): void => void found.push(violation('usage is the exact sum of its lines', what));
  const spent = sumOf(books.items.map(({ costUsd }) => amountOf(costUsd)));
  if (batch!.usage === null) {
    if (batch!.status === 'completed') wrong('there is no usage');
    return found;
  }
  if (amountOf(batch!.usage.cost) !== spent) wrong(`cost ${batch!.usage.cost} instead of ${textOf(spent)}`);
  const answered = resultsOf(history).flatMap(({ response }) => (response === null ? [] : [usageIn(response.body)]));
  const calledOff = books.items.filter((item) => item.calledOff);
  const promptTokens = totalOf([
    ...answered.map((usage) => usage.prompt_tokens),
    ...calledOff.map((item) => item.promptTokens),
  ]);
  const completionTokens = totalOf([
    ...answered.map((usage) => usage.completion_tokens ?? 0),
    ...calledOff.map((item) => item.completionTokens),
  ]);
  const shown = batch!.usage;
  if (shown.prompt_tokens !== promptTokens) wrong(`${shown.prompt_tokens} prompt tokens instead of ${promptTokens}`);
  if (shown.completion_tokens !== completionTokens) {
    wrong(`${shown.completion_tokens} completion tokens instead of ${completionTokens}`);
  }
  const shownCosts = answered.flatMap(({ cost }) => (cost === undefined ? [] : [amountOf(cost)]));
  const answeredUsd = spent - sumOf(calledOff.map(({ costUsd }) => amountOf(costUsd)));
  if (shownCosts.length > 0 && sumOf(shownCosts) !== answeredUsd) {
    wrong(`the results show ${textOf(sumOf(shownCosts))}, the rows hold ${textOf(answeredUsd)}`);
  }
  return found;
}

const totalOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

function usageIn(body: Readonly<Record<string, unknown>>): {
  readonly prompt_tokens: number;
  readonly completion_tokens?: number;
  readonly cost?: string;
} {
  return (body as { usage: ReturnType<typeof usageIn> }).usage;
}

function wrongBooks({ books }: BatchHistory): Violation[] {
  const found: Violation[] = books.drift.map(({ kind, id, figure, foundUsd, expectedUsd }) =>
    violation('the books balance', `${kind} ${id}: ${figure} is ${foundUsd}, not ${expectedUsd}`),
  );
  const [hold] = books.holds;
  const charged = sumOf(books.transfers.map(({ amountUsd }) => amountOf(amountUsd)));
  if (books.holds.length !== 1) found.push(violation('the hold is resolved', `there are ${books.holds.length} holds`));
  else if (hold!.state !== 'resolved') found.push(violation('the hold is resolved', `it is ${hold!.state}`));
  else if (amountOf(hold!.settledUsd) !== charged) {
    found.push(violation('the hold is resolved', `settled ${hold!.settledUsd}, charged ${textOf(charged)}`));
  }
  return found;
}

import { amountOf, sumOf, textOf, type Amount } from '../../support/decimal';
import type { BatchRecord, CallRecord, Evidence } from '../evidence';
import { GATEWAYS } from '../parts';
import { OWN_KEYS_MODEL } from '../storm-catalogue';
import { dueTokens, priceOf } from './due';
import { diedBetween, type Check, type StormViolation } from './violation';

/** How long a charge may wait in a gateway's memory while PostgreSQL is away. */
const SETTLED_WITHIN_MS = 30_000;

type Costs = ReadonlyMap<string, Amount>;

/** What each generation, result and video cost, by the reference under which it is charged. */
function causesIn({ dump, batches }: Evidence): Costs {
  const causes = new Map<string, Amount>();
  for (const { id, state, costUsd } of dump.generations) if (state === 'settled') causes.set(id, amountOf(costUsd));
  for (const { generationId, costUsd } of dump.results) {
    if (generationId !== null) causes.set(generationId, amountOf(costUsd));
  }
  for (const { id, costUsd } of dump.videos) if (costUsd !== null) causes.set(id, amountOf(costUsd));
  // The results of a deleted batch are purged; its caller had seen them before.
  for (const [id, cost] of batches.filter(({ wasDeleted }) => wasDeleted).flatMap(resultCosts)) causes.set(id, cost);
  return causes;
}

function resultCosts({ batch }: BatchRecord): [string, Amount][] {
  return (batch?.results ?? []).flatMap(({ response }) => {
    const { id, usage } = (response?.body ?? {}) as { id?: string; usage?: { cost?: string } };
    return id === undefined || usage?.cost === undefined ? [] : [[id, amountOf(usage.cost)] as [string, Amount]];
  });
}

export const chargesAndCauses: Check = (evidence) => {
  const causes = causesIn(evidence);
  const charges = Map.groupBy(evidence.dump.charges, ({ reference }) => reference);
  const found: StormViolation[] = [];
  for (const [reference, rows] of charges) {
    const cost = causes.get(reference);
    const amounts = rows.map(({ amountUsd }) => amountOf(amountUsd));
    if (amounts.length === 1 && amounts[0] === cost) continue;
    const charged = amounts.map(textOf).join(' and ');
    const what = `${reference}: ${charged} charged, ${cost === undefined ? 'for nothing' : `cost ${textOf(cost)}`}`;
    found.push({ promise: 'every charge has a cause', what });
  }
  for (const [reference, cost] of causes) {
    if (cost === 0n || charges.has(reference)) continue;
    found.push({ promise: 'every cause has a charge', what: `${reference} cost ${textOf(cost)} and was not charged` });
  }
  return found;
};

/** Calls whose answer came whole and whose gateway lived on must be settled with the cost that the caller read. */
export const answeredCalls: Check = (evidence) => {
  const rows = new Map(evidence.dump.generations.map((row) => [row.id, row]));
  return evidence.calls.filter(isAnswered).flatMap((call) => {
    const row = rows.get(call.generationId ?? '');
    const isExplained = diedBetween(evidence, call.gateway, call.startMs, call.endMs + SETTLED_WITHIN_MS);
    if (isExplained && row?.state !== 'settled') return [];
    const wrong = wrongRow(call, row, evidence.prices);
    return wrong === null
      ? []
      : [{ promise: 'an answered call is charged as its answer said', what: `${call.generationId}: ${wrong}` }];
  });
};

const isAnswered = ({ status, ending }: CallRecord): boolean =>
  status === 200 && (ending === 'whole' || ending === 'completed');

function wrongRow(
  call: CallRecord,
  row: Evidence['dump']['generations'][number] | undefined,
  prices: Evidence['prices'],
): string | null {
  if (row === undefined) return 'has no row';
  if (row.state !== 'settled') return `is ${row.state}`;
  const cost = amountOf(row.costUsd);
  if (call.cost !== null && amountOf(call.cost) !== cost) {
    return `cost ${row.costUsd}, and its caller read ${call.cost}`;
  }
  const due = dueFor(call, prices);
  return due === null || due === cost ? null : `cost ${row.costUsd} instead of ${textOf(due)}`;
}

/** By the prompt and the price list alone; null where callers bring keys, and pay a share or nothing. */
function dueFor({ api, model, prompt }: CallRecord, prices: Evidence['prices']): Amount | null {
  if (model === OWN_KEYS_MODEL) return null;
  return priceOf(dueTokens(prompt, api === 'embeddings'), prices);
}

export const answeredByProviders: Check = ({ calls, dump, upstreamCalls }) => {
  const answered = new Set(upstreamCalls.filter(({ behaviour }) => behaviour === 'answer').map(({ marker }) => marker));
  const charged = new Set(dump.charges.map(({ reference }) => reference));
  return calls
    .filter(({ generationId }) => charged.has(generationId ?? ''))
    .filter(({ marker }) => !answered.has(marker))
    .map(({ generationId, marker }) => ({
      promise: 'nothing is charged that no provider answered',
      what: `${generationId} (${marker})`,
    }));
};

const LONGEST_STANDSTILL_MS = 15_000;

/** An open call belongs to a gateway that died after it began; a hold to a batch or video, whose end resolves it. */
export const holds: Check = (evidence) => {
  const { dump, calls } = evidence;
  const owners = new Set([...dump.batches, ...dump.videos].map(({ id }) => id));
  const callOf = new Map(calls.map((call) => [call.generationId ?? '', call]));
  const abandoned = dump.generations.filter(({ id, state, createdMs }) => {
    if (state !== 'abandoned') return false;
    const call = callOf.get(id);
    const suspects = call === undefined ? GATEWAYS : [call.gateway];
    // A PostgreSQL that stood still wrote the row later, maybe after the death of the gateway.
    const begunMs = call?.startMs ?? createdMs - LONGEST_STANDSTILL_MS;
    return !suspects.some((name) => diedBetween(evidence, name, begunMs - 1_000, Infinity));
  });
  return [
    ...dump.holds.filter(({ id }) => !owners.has(id)).map(({ id }) => `${id} is neither a batch nor a video`),
    ...dump.holds.filter(({ state }) => state === 'open').map(({ id, amountUsd }) => `${id} still holds ${amountUsd}`),
    ...dump.generations.filter(({ state }) => state === 'open').map(({ id }) => `the call ${id} is still open`),
    ...abandoned.map(({ id }) => `the call ${id} was left open by a gateway that lives`),
  ].map((what) => ({ promise: 'no hold outlives its owner', what }));
};

export const books: Check = ({ dump }) => [
  ...dump.drift.map((what): StormViolation => ({ promise: 'the books balance', what })),
  ...(amountOf(dump.leastAvailableUsd) < 0n
    ? [{ promise: 'credit is never negative' as const, what: `${dump.leastAvailableUsd} was available` }]
    : []),
];

/** Sum of all charges, for the report. */
export function chargedIn({ dump }: Evidence): string {
  return textOf(sumOf(dump.charges.map(({ amountUsd }) => amountOf(amountUsd))));
}

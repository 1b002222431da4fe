import type { BatchRecord, Evidence, StoredBatch } from '../evidence';
import type { Check, StormViolation } from './violation';

const PROMISE = 'a submission is accepted once';

interface Made {
  readonly id: string;
  /** Null where nothing ties it to a submission. */
  readonly submission: string | null;
}

/** A submission is one batch or video at most, however often it was sent, and nothing exists without a submission. */
export const acceptances: Check = (evidence) => {
  const { batchSubmissions, videoSubmissions, dump } = evidence;
  const batchNames = new Set(batchSubmissions.map(({ name }) => name));
  return [
    ...wrongNumbers('batches', acceptedIn(evidence), batchNames),
    ...wrongNumbers('videos', dump.videos, new Set(videoSubmissions)),
    ...lineAnswers(evidence),
  ];
};

function wrongNumbers(what: string, made: readonly Made[], known: ReadonlySet<string>): StormViolation[] {
  const stray = made.filter(({ submission }) => submission === null || !known.has(submission));
  const bySubmission = Map.groupBy(made, ({ submission }) => submission ?? '');
  const several = [...bySubmission].filter(([name, some]) => known.has(name) && some.length > 1);
  return [
    ...stray.map(({ id, submission }) => `no caller asked for ${id} (${submission ?? 'of no submission'})`),
    ...several.map(([name, some]) => `${name} became ${some.length} ${what}: ${some.map(({ id }) => id).join(', ')}`),
  ].map((text) => ({ promise: PROMISE, what: text }));
}

/**
 * Every accepted batch and its submission: by its idempotency key; by what the caller of a deleted batch saw, whose
 * key is gone; or by its first line. A retry always has a key, so a first line belongs to the submission before it.
 */
function acceptedIn({ batches, batchSubmissions, dump }: Evidence): Made[] {
  const seen = new Map(batches.map(({ id, submission }) => [id, submission]));
  const byFirstLine = new Map<string, string>();
  for (const { name, lines } of batchSubmissions) {
    const first = lines[0]?.customId;
    if (first !== undefined && !byFirstLine.has(first)) byFirstLine.set(first, name);
  }
  const submissionOf = ({ id, idempotencyKey, firstCustomId }: StoredBatch): string | null =>
    idempotencyKey ?? seen.get(id) ?? byFirstLine.get(firstCustomId ?? '') ?? null;
  return dump.batches
    .filter(({ status }) => status !== 'receiving')
    .map((batch) => ({ id: batch.id, submission: submissionOf(batch) }));
}

/** A line has one answer over all batches: a retry takes only lines that have none. */
function lineAnswers({ dump, batches }: Evidence): StormViolation[] {
  const deleted = new Set(dump.batches.filter((batch) => batch.deleted).map(({ id }) => id));
  const purged = batches.filter(({ id }) => deleted.has(id)).flatMap(answersRead);
  const stored = dump.results.filter(({ failed }) => !failed);
  return [...Map.groupBy([...stored, ...purged], ({ customId }) => customId)]
    .filter(([, answers]) => answers.length > 1)
    .map(([customId, answers]) => ({
      promise: PROMISE,
      what: `the line ${customId} has ${answers.length} answers, in ${answers.map(({ batchId }) => batchId).join(', ')}`,
    }));
}

function answersRead({ id, batch }: BatchRecord): { readonly batchId: string; readonly customId: string }[] {
  const answered = (batch?.results ?? []).filter(({ error }) => error === null);
  return answered.map(({ custom_id: customId }) => ({ batchId: id, customId }));
}

/** Every settled call belongs to one request of the load, which has no other, under the id that its caller read. */
export const settledCalls: Check = ({ calls, dump }) => {
  const videoIds = new Set(dump.videos.map(({ id }) => id));
  const callOf = new Map(calls.map((call) => [call.marker, call]));
  // A row that was stored without its description is known by the id that the caller read.
  const markerOf = new Map(calls.map(({ generationId, marker }) => [generationId, marker]));
  const settled = dump.generations.filter(({ id, state }) => state === 'settled' && !videoIds.has(id));
  const byMarker = Map.groupBy(settled, ({ id, marker }) => marker ?? markerOf.get(id) ?? '');
  return [...byMarker].flatMap(([marker, rows]): StormViolation[] => {
    const ids = rows.map(({ id }) => id).join(', ');
    const call = callOf.get(marker);
    const read = call?.generationId ?? null;
    if (call === undefined) return [settledWrongly(`no caller made ${ids} (${marker || 'without a marker'})`)];
    if (rows.length > 1) return [settledWrongly(`${marker} is settled as ${ids}`)];
    return read === null || read === ids
      ? []
      : [settledWrongly(`${marker} is settled as ${ids}, its caller read ${read}`)];
  });
};

function settledWrongly(what: string): StormViolation {
  return { promise: 'a call is settled once', what };
}

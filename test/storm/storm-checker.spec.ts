import { linesOf, type TestLine } from '../support/batch-lines';
import type { BatchBody } from '../support/client';
import { answerTo, tokensOf } from '../support/upstream-answer';
import { amountOf, sumOf, textOf } from '../support/decimal';
import type { StormPromise } from './checks/violation';
import type { CallRecord, Evidence, StoredResult } from './evidence';
import { PROCESS_NAMES } from './parts';
import { findStormViolations } from './storm-checker';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const LINES = linesOf('storm', 4);
const UNSEEN_LINES = linesOf('unseen', 3);
const START = 1_000_000;

const costOf = (prompt: string): string => {
  const { promptTokens, completionTokens } = tokensOf(prompt);
  return textOf(
    amountOf(PRICES.prompt) * BigInt(promptTokens) + amountOf(PRICES.completion) * BigInt(completionTokens),
  );
};

/** What is changed in evidence of a storm in which nothing went wrong. */
type Mutable<T> =
  T extends ReadonlyMap<infer K, infer V>
    ? Map<K, Mutable<V>>
    : T extends readonly (infer E)[]
      ? Mutable<E>[]
      : T extends object
        ? { -readonly [K in keyof T]: Mutable<T[K]> }
        : T;

function call(marker: string, others: Partial<CallRecord> = {}): CallRecord {
  const prompt = `[[${marker}]] please`;
  return {
    actor: 'caller-1',
    gateway: 'gateway-1',
    api: 'chat',
    model: 'storm/plain',
    streamed: false,
    marker,
    prompt,
    key: 'demo',
    mayBe: [],
    isCalm: false,
    startMs: START,
    endMs: START + 100,
    status: 200,
    error: null,
    generationId: `gen-${marker}`,
    requestId: `req-${marker}`,
    ending: 'whole',
    endings: 0,
    text: answerTo(prompt),
    cost: costOf(prompt),
    ...others,
  };
}

const CALLS = [
  call('one'),
  call('two', { streamed: true, ending: 'completed', endings: 1 }),
  call('calm', { isCalm: true }),
];

function batchBody(): BatchBody {
  const usages = LINES.map(({ prompt }) => tokensOf(prompt));
  const prompt_tokens = usages.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
  const completion_tokens = usages.reduce((sum, { completionTokens }) => sum + completionTokens, 0);
  return {
    id: 'batch-1',
    object: 'batch',
    endpoint: '/v1/chat/completions',
    model: 'storm/plain',
    status: 'completed',
    created_at: 1,
    finalized_at: 2,
    expires_at: 86_400,
    request_counts: { total: LINES.length, completed: LINES.length, failed: 0 },
    usage: {
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      cost: textOf(sumOf(LINES.map(({ prompt }) => amountOf(costOf(prompt))))),
    },
    error: null,
    results: LINES.map(({ customId, prompt }, index) => ({
      id: `result-${index}`,
      custom_id: customId,
      response: {
        status_code: 200,
        body: {
          id: `gen-batch-${index}`,
          choices: [{ message: { content: answerTo(prompt) } }],
          usage: {
            prompt_tokens: usages[index]!.promptTokens,
            completion_tokens: usages[index]!.completionTokens,
            cost: costOf(prompt),
          },
        },
      },
      error: null,
    })),
  };
}

function goodEvidence(): Mutable<Evidence> {
  const lineCosts = LINES.map(({ prompt }, index) => ({ id: `gen-batch-${index}`, costUsd: costOf(prompt) }));
  const transfers = lineCosts.map(({ id, costUsd }) => ({
    reference: id,
    kind: 'charge',
    debitAccount: 'org:1',
    creditAccount: 'revenue',
    amountUsd: costUsd,
  }));
  const spent = textOf(sumOf(lineCosts.map(({ costUsd }) => amountOf(costUsd))));
  const upstream = (marker: string) =>
    ({ script: 'calls', marker, behaviour: 'answer', startMs: 1, endMs: 2, status: 200 }) as const;
  const evidence: Evidence = {
    seed: 1,
    prices: PRICES,
    videoUsd: '0.02',
    healedMs: START + 60_000,
    calls: CALLS,
    requests: [],
    batchSubmissions: [
      { name: 'storm', endpoint: '/v1/chat/completions', lines: LINES },
      { name: 'unseen', endpoint: '/v1/chat/completions', lines: UNSEEN_LINES },
    ],
    batches: [
      {
        id: 'batch-1',
        submission: 'storm',
        lane: 'managed',
        endpoint: '/v1/chat/completions',
        model: 'storm/plain',
        lines: LINES,
        planted: [],
        acceptedMs: START,
        statuses: ['validating', 'completed'],
        batch: batchBody(),
        wasLost: false,
        wasCancelled: false,
        wasDeleted: false,
      },
    ],
    keys: [{ name: 'key-1', hash: 'h', revokedMs: START + 5_000, isDoubtful: false }],
    videoSubmissions: ['film'],
    videos: [{ id: 'gen-vid-1', recall: 'plain', prompt: 'A film', acceptedMs: START }],
    announcements: new Map([['gen-vid-1', ['gen-vid-1-completed completed']]]),
    faults: [{ index: 0, kind: 'delay', target: 'gateway-1>redis', startMs: START, endMs: START + 10, note: '' }],
    deaths: [
      {
        process: 'auth',
        atMs: START,
        how: 'was ended by SIGKILL',
        injected: 'SIGKILL',
        wasBooting: false,
        backMs: null,
      },
      { process: 'auth', atMs: START, how: 'exited with code 0', injected: 'SIGTERM', wasBooting: false, backMs: null },
    ],
    logFindings: [],
    causes: new Map(),
    notReady: [],
    unfinished: [],
    upstreamCalls: [...CALLS, ...LINES, ...UNSEEN_LINES].map(({ marker }) => upstream(marker)),
    filmsMade: new Map([['gen-vid-1', 1]]),
    before: new Map(PROCESS_NAMES.map((name) => [name, { residentMib: 150, openFiles: 60 }])),
    after: new Map(PROCESS_NAMES.map((name) => [name, { residentMib: 170, openFiles: 62 }])),
    connectionsBefore: 40,
    dump: {
      generations: CALLS.map(({ generationId, prompt, marker }) => ({
        id: generationId!,
        state: 'settled',
        outcome: 'completed',
        costUsd: costOf(prompt),
        createdMs: START,
        marker,
      })),
      charges: [
        ...CALLS.map(({ generationId, prompt }) => ({ reference: generationId!, amountUsd: costOf(prompt) })),
        ...lineCosts.map(({ id, costUsd }) => ({ reference: id, amountUsd: costUsd })),
        { reference: 'gen-vid-1', amountUsd: '0.02' },
      ],
      results: LINES.map((line, index) => resultOf('batch-1', line, `gen-batch-${index}`)),
      holds: [
        { id: 'batch-1', state: 'resolved', amountUsd: '1', settledUsd: spent },
        { id: 'gen-vid-1', state: 'resolved', amountUsd: '0.02', settledUsd: '0.02' },
      ],
      batches: [
        {
          id: 'batch-1',
          idempotencyKey: 'storm',
          firstCustomId: LINES[0]!.customId,
          status: 'completed',
          deleted: false,
          total: LINES.length,
          completed: LINES.length,
          failed: 0,
          errorMessage: null,
        },
      ],
      videos: [{ id: 'gen-vid-1', submission: 'film', status: 'completed', costUsd: '0.02' }],
      booksOfBatches: new Map([
        [
          'batch-1',
          {
            items: LINES.map(({ customId, prompt }, index) => ({
              customId,
              generationId: `gen-batch-${index}`,
              failed: false,
              calledOff: false,
              ...tokensOf(prompt),
              costUsd: costOf(prompt),
            })),
            transfers,
            holds: [{ state: 'resolved', amountUsd: '1', settledUsd: spent }],
            segments: 0,
            outboxRows: 0,
            drift: [],
          },
        ],
      ]),
      outboxRows: 0,
      segments: 0,
      drift: [],
      leastAvailableUsd: '99.5',
      queues: {},
      connections: 42,
    },
  };
  const good = structuredClone(evidence) as Mutable<Evidence>;
  addBatch(good, 'batch-unseen', UNSEEN_LINES);
  return good;
}

function resultOf(batchId: string, { customId, prompt }: TestLine, generationId: string): StoredResult {
  const tokens = tokensOf(prompt);
  return { batchId, customId, generationId, failed: false, calledOff: false, ...tokens, costUsd: costOf(prompt) };
}

/** Adds a batch that ran all of its lines and charged for them, and whose acceptance no caller saw. */
function addBatch({ dump }: Mutable<Evidence>, id: string, lines: readonly TestLine[]): void {
  const results = lines.map((line, index) => resultOf(id, line, `gen-${id}-${index}`));
  const settledUsd = textOf(sumOf(results.map(({ costUsd }) => amountOf(costUsd))));
  const total = lines.length;
  dump.batches.push({
    id,
    idempotencyKey: null,
    firstCustomId: lines[0]!.customId,
    status: 'completed',
    deleted: false,
    total,
    completed: total,
    failed: 0,
    errorMessage: null,
  });
  dump.results.push(...results);
  dump.charges.push(...results.map(({ generationId, costUsd }) => ({ reference: generationId!, amountUsd: costUsd })));
  dump.holds.push({ id, state: 'resolved', amountUsd: '1', settledUsd });
}

/** Adds a video that was made and charged. */
function addVideo({ dump, announcements, filmsMade }: Mutable<Evidence>, id: string, submission: string | null): void {
  dump.videos.push({ id, submission, status: 'completed', costUsd: '0.02' });
  dump.charges.push({ reference: id, amountUsd: '0.02' });
  dump.holds.push({ id, state: 'resolved', amountUsd: '0.02', settledUsd: '0.02' });
  announcements.set(id, [`${id}-completed completed`]);
  filmsMade.set(id, 1);
}

/** Takes the charges of a batch's results away, and what they cost. */
function makeFree({ dump }: Mutable<Evidence>, batchId: string): void {
  const results = dump.results.filter((result) => result.batchId === batchId);
  const ids = new Set(results.map(({ generationId }) => generationId));
  for (const result of results) result.costUsd = '0';
  dump.charges = dump.charges.filter(({ reference }) => !ids.has(reference));
  dump.holds.find(({ id }) => id === batchId)!.settledUsd = '0';
}

type Planted = readonly [string, StormPromise, (evidence: Mutable<Evidence>) => void];

const PLANTED: readonly Planted[] = [
  [
    'an answer of 500',
    'no internal error',
    ({ calls }) => void Object.assign(calls[0]!, { status: 500, error: 'server' }),
  ],
  [
    'an internal error within a stream',
    'no internal error',
    ({ calls }) => void Object.assign(calls[1]!, { ending: 'failed', error: 'server' }),
  ],
  ['a 401 for a good key', 'only known refusals', ({ calls }) => void Object.assign(calls[0]!, { status: 401 })],
  [
    'a 400 for a good request',
    'only known refusals',
    ({ requests }) =>
      void requests.push({
        actor: 'a',
        gateway: 'gateway-1',
        what: 'POST /keys',
        isCalm: false,
        startMs: 1,
        endMs: 2,
        status: 400,
        brokeOff: false,
        error: 'invalid_request',
        requestId: null,
      }),
  ],
  [
    'a call without an answer',
    'every request has an answer',
    ({ calls }) => void Object.assign(calls[0]!, { status: null, ending: 'none', generationId: null }),
  ],
  ['half a text', 'an answer is whole', ({ calls }) => void Object.assign(calls[0]!, { text: 'sha256:' })],
  [
    'a stream that says half and ends',
    'an answer is whole',
    ({ calls }) => void Object.assign(calls[1]!, { text: 's' }),
  ],
  ['a stream that ends twice', 'a stream has one ending', ({ calls }) => void Object.assign(calls[1]!, { endings: 2 })],
  [
    'a stream that breaks off',
    'a stream has one ending',
    ({ calls }) => void Object.assign(calls[1]!, { ending: 'broken', endings: 0 }),
  ],
  [
    'a refusal when all is well again',
    'calls succeed once faults are over',
    ({ calls }) => void Object.assign(calls[2]!, { status: 503, generationId: null }),
  ],
  [
    'a batch whose results could not be read',
    'a batch keeps its promises',
    ({ batches }) => void (batches[0]!.batch = null),
  ],
  [
    'a batch that a caller last saw running',
    'a batch keeps its promises',
    ({ batches }) => void (batches[0]!.batch = { ...batches[0]!.batch!, status: 'in_progress', results: null }),
  ],
  [
    'a cancelled batch whose counts do not add up',
    'a batch keeps its promises',
    ({ dump }) => void Object.assign(dump.batches[0]!, { status: 'cancelled', completed: 0, failed: 0 }),
  ],
  [
    'a deleted batch that lost results before',
    'a batch keeps its promises',
    ({ batches, dump }) => {
      dump.booksOfBatches.clear();
      dump.batches[0]!.deleted = true;
      batches[0]!.wasDeleted = true;
      batches[0]!.batch = { ...batches[0]!.batch!, results: batches[0]!.batch!.results!.slice(1) };
    },
  ],
  [
    'a result that is stored twice',
    'a batch keeps its promises',
    ({ dump }) => {
      const books = dump.booksOfBatches.get('batch-1')!;
      (books.items as object[]).push({ ...books.items[0]! });
    },
  ],
  [
    'a line that is charged twice',
    'a batch keeps its promises',
    ({ dump }) => {
      const books = dump.booksOfBatches.get('batch-1')!;
      (books.transfers as object[]).push({ ...books.transfers[0]! });
    },
  ],
  [
    'a hold that was settled with too much',
    'a batch keeps its promises',
    ({ dump }) => {
      const books = dump.booksOfBatches.get('batch-1')!;
      Object.assign(books.holds[0]!, { settledUsd: '0.9' });
    },
  ],
  ['a video without a charge or a cost', 'a video ends once', ({ dump }) => void (dump.videos[0]!.costUsd = null)],
  [
    'a call that costs more than its price, as its answer said',
    'an answered call is charged as its answer said',
    ({ calls, dump }) => {
      calls[0]!.cost = '0.5';
      dump.generations[0]!.costUsd = '0.5';
      dump.charges[0]!.amountUsd = '0.5';
    },
  ],
  ['a batch that is unknown', 'an accepted batch exists', ({ batches }) => void (batches[0]!.wasLost = true)],
  ['a batch without a row', 'an accepted batch exists', ({ dump }) => void (dump.batches = [])],
  [
    'a batch that does not end',
    'a batch keeps its promises',
    ({ dump }) => void (dump.batches[0]!.status = 'in_progress'),
  ],
  [
    'a completed batch with no results',
    'a batch keeps its promises',
    ({ dump }) => {
      dump.batches[0]!.completed = 0;
      dump.results = dump.results.filter(({ batchId }) => batchId !== 'batch-1');
    },
  ],
  [
    'a lost result',
    'a batch keeps its promises',
    ({ batches }) =>
      void (batches[0]!.batch = { ...batches[0]!.batch!, results: batches[0]!.batch!.results!.slice(1) }),
  ],
  [
    'an answer to another line',
    'a batch keeps its promises',
    ({ batches }) => {
      const results = batches[0]!.batch!.results! as Mutable<NonNullable<BatchBody['results']>>;
      results[0]!.response = results[1]!.response;
    },
  ],
  [
    'a line that fails by its provider',
    'lines fail only for their own reasons',
    ({ batches }) => {
      const results = batches[0]!.batch!.results! as Mutable<NonNullable<BatchBody['results']>>;
      Object.assign(results[0]!, { response: null, error: { type: 'provider_unavailable', message: '' } });
    },
  ],
  [
    'a charge for nothing',
    'every charge has a cause',
    ({ dump }) => void dump.charges.push({ reference: 'gen-none', amountUsd: '0.1' }),
  ],
  [
    'a call that is charged twice',
    'every charge has a cause',
    ({ dump }) => void dump.charges.push({ ...dump.charges[0]! }),
  ],
  [
    'a call that is charged twice, once wrongly',
    'every charge has a cause',
    ({ dump }) => void dump.charges.unshift({ ...dump.charges[0]!, amountUsd: '0.1' }),
  ],
  ['a charge that is too high', 'every charge has a cause', ({ dump }) => void (dump.charges[0]!.amountUsd = '0.1')],
  ['a call that was not charged', 'every cause has a charge', ({ dump }) => void dump.charges.shift()],
  [
    'a video that was not charged',
    'every cause has a charge',
    ({ dump }) => void (dump.charges = dump.charges.filter(({ reference }) => reference !== 'gen-vid-1')),
  ],
  [
    'a call whose row is gone',
    'an answered call is charged as its answer said',
    ({ dump }) => void dump.generations.shift(),
  ],
  [
    'a cost that differs from the answer',
    'an answered call is charged as its answer said',
    ({ calls }) => void Object.assign(calls[0]!, { cost: '0.5' }),
  ],
  [
    'a charge for a call that no provider had',
    'nothing is charged that no provider answered',
    ({ upstreamCalls }) => void upstreamCalls.shift(),
  ],
  ['an open hold', 'no hold outlives its owner', ({ dump }) => void (dump.holds[0]!.state = 'open')],
  [
    'a call that a living gateway left open',
    'no hold outlives its owner',
    ({ dump }) => void Object.assign(dump.generations[0]!, { state: 'abandoned', costUsd: '0' }),
  ],
  ['books that drift', 'the books balance', ({ dump }) => void dump.drift.push('org:1: balance 0.1, held 0')],
  ['negative credit', 'credit is never negative', ({ dump }) => void (dump.leastAvailableUsd = '-0.01')],
  [
    'a revoked key that works',
    'a revoked key is refused within a second',
    ({ calls }) => void Object.assign(calls[0]!, { key: 'key-1', startMs: START + 6_500 }),
  ],
  ['a video that does not end', 'a video ends once', ({ dump }) => void (dump.videos[0]!.status = 'in_progress')],
  [
    'a video that is announced twice',
    'a video ends once',
    ({ announcements }) => void announcements.get('gen-vid-1')!.push('gen-vid-1-failed failed'),
  ],
  ['a film that is made twice', 'a film is made once', ({ filmsMade }) => void filmsMade.set('gen-vid-1', 2)],
  [
    'a process that exits by itself',
    'no process ends by itself',
    ({ deaths }) =>
      void deaths.push({
        process: 'auth',
        atMs: START,
        how: 'exited with code 1',
        injected: null,
        wasBooting: false,
        backMs: null,
      }),
  ],
  [
    'a process that fails when it is stopped',
    'no process ends by itself',
    ({ deaths }) => void (deaths[1]!.how = 'exited with code 1'),
  ],
  [
    'a boot that fails in fine weather',
    'no process ends by itself',
    ({ deaths }) =>
      void deaths.push({
        process: 'auth',
        atMs: START + 50_000,
        how: 'exited with code 1',
        injected: null,
        wasBooting: true,
        backMs: null,
      }),
  ],
  [
    'an error that nobody caught',
    'no error is uncaught',
    ({ logFindings }) =>
      void logFindings.push({ process: 'auth', line: '"level":"fatal" Ended by an error that nobody caught' }),
  ],
  ['a process that stays away', 'processes come back', ({ notReady }) => void notReady.push('auth')],
  ['work that is left', 'the work comes to an end', ({ unfinished }) => void unfinished.push('video 1 is pending')],
  ['segments that are left', 'the work comes to an end', ({ dump }) => void (dump.segments = 2)],
  [
    'memory that is kept',
    'memory and connections come back',
    ({ after }) => void after.set('auth', { residentMib: 900, openFiles: 60 }),
  ],
  [
    'files that stay open',
    'memory and connections come back',
    ({ after }) => void after.set('auth', { residentMib: 150, openFiles: 600 }),
  ],
  ['connections that stay', 'memory and connections come back', ({ dump }) => void (dump.connections = 90)],
  ['a message in a dead queue', 'no message is left', ({ dump }) => void (dump.queues = { 'batches.dead': 1 })],
  ['a message in the outbox', 'no message is left', ({ dump }) => void (dump.outboxRows = 1)],
  [
    'a submission that became two batches, both run and charged',
    'a submission is accepted once',
    (evidence) => addBatch(evidence, 'batch-2', LINES),
  ],
  [
    'a submission that became two batches whose callers saw neither',
    'a submission is accepted once',
    (evidence) => addBatch(evidence, 'batch-2', UNSEEN_LINES),
  ],
  [
    'a batch that no caller asked for',
    'a submission is accepted once',
    (evidence) => addBatch(evidence, 'batch-2', linesOf('stray', 2)),
  ],
  [
    'a line that two batches completed',
    'a submission is accepted once',
    (evidence) => {
      evidence.batchSubmissions.push({ name: 'batch-1-again', endpoint: '/v1/chat/completions', lines: [LINES[1]!] });
      addBatch(evidence, 'batch-2', [LINES[1]!]);
      evidence.dump.batches.at(-1)!.idempotencyKey = 'batch-1-again';
    },
  ],
  [
    'a batch that was deleted although no caller asked for it',
    'a batch keeps its promises',
    ({ dump }) => void (dump.batches[0]!.deleted = true),
  ],
  [
    'an unseen batch without a hold',
    'a batch keeps its promises',
    ({ dump }) => void (dump.holds = dump.holds.filter(({ id }) => id !== 'batch-unseen')),
  ],
  [
    'a deleted batch without a hold',
    'a batch keeps its promises',
    ({ batches, dump }) => {
      batches[0]!.wasDeleted = true;
      Object.assign(dump.batches[0]!, { deleted: true, idempotencyKey: null, firstCustomId: null });
      dump.results = dump.results.filter(({ batchId }) => batchId !== 'batch-1');
      dump.booksOfBatches.clear();
      dump.holds = dump.holds.filter(({ id }) => id !== 'batch-1');
    },
  ],
  [
    'an unseen batch whose hold was settled with less than its results cost',
    'a batch keeps its promises',
    ({ dump }) => void (dump.holds.find(({ id }) => id === 'batch-unseen')!.settledUsd = '0'),
  ],
  [
    'a hold of nothing',
    'no hold outlives its owner',
    ({ dump }) => void dump.holds.push({ id: 'batch-9', state: 'resolved', amountUsd: '1', settledUsd: '0' }),
  ],
  [
    'an unseen cancelled batch with counted answers that are not stored',
    'a batch keeps its promises',
    (evidence) => {
      makeFree(evidence, 'batch-unseen');
      evidence.dump.results = evidence.dump.results.filter(({ batchId }) => batchId !== 'batch-unseen');
      evidence.dump.batches.find(({ id }) => id === 'batch-unseen')!.status = 'cancelled';
    },
  ],
  [
    'an unseen batch whose results cost nothing',
    'a batch keeps its promises',
    (evidence) => makeFree(evidence, 'batch-unseen'),
  ],
  [
    'an unseen batch whose results have the usage of other lines',
    'a batch keeps its promises',
    (evidence) => {
      makeFree(evidence, 'batch-unseen');
      for (const result of evidence.dump.results.filter(({ batchId }) => batchId === 'batch-unseen')) {
        Object.assign(result, { promptTokens: 0, completionTokens: 0 });
      }
    },
  ],
  [
    'a call that is charged under two generations',
    'a call is settled once',
    ({ dump }) => {
      dump.generations.push({ ...dump.generations[0]!, id: 'gen-shadow' });
      dump.charges.push({ reference: 'gen-shadow', amountUsd: dump.generations[0]!.costUsd });
    },
  ],
  [
    'a call that is charged under another generation than its caller read',
    'a call is settled once',
    ({ calls, dump }) => {
      Object.assign(calls[0]!, { ending: 'left' });
      dump.generations[0]!.id = 'gen-shadow';
      dump.charges[0]!.reference = 'gen-shadow';
    },
  ],
  [
    'a call that no caller made',
    'a call is settled once',
    ({ dump }) => {
      dump.generations.push({ ...dump.generations[0]!, id: 'gen-shadow', marker: 'stray' });
      dump.charges.push({ reference: 'gen-shadow', amountUsd: dump.generations[0]!.costUsd });
    },
  ],
  [
    'a submission that became two videos',
    'a submission is accepted once',
    (evidence) => addVideo(evidence, 'gen-vid-2', 'film'),
  ],
  [
    'a video that no caller asked for',
    'a submission is accepted once',
    (evidence) => addVideo(evidence, 'gen-vid-2', null),
  ],
  [
    'an unseen video that cost too much',
    'a video ends once',
    (evidence) => {
      evidence.videoSubmissions.push('film-2');
      addVideo(evidence, 'gen-vid-2', 'film-2');
      evidence.dump.videos.at(-1)!.costUsd = '0.5';
      evidence.dump.charges.at(-1)!.amountUsd = '0.5';
    },
  ],
  [
    'a video without a hold',
    'a video ends once',
    ({ dump }) => void (dump.holds = dump.holds.filter(({ id }) => id !== 'gen-vid-1')),
  ],
  [
    'a line that providers answered 50 more times',
    'answers are repeated only by faults',
    ({ upstreamCalls }) => {
      const last = upstreamCalls.at(-1)!;
      upstreamCalls.push(...Array.from({ length: 50 }, () => ({ ...last })));
    },
  ],
  [
    'a line that is answered again before the first fault',
    'answers are repeated only by faults',
    ({ upstreamCalls, faults, deaths }) => {
      faults.length = 0;
      deaths.length = 0;
      upstreamCalls.push({ ...upstreamCalls.at(-1)!, startMs: 30, endMs: 40 });
    },
  ],
];

/** A call without an answer at a gateway that was away, 20 s of booting included. */
function refusedAt(startMs: number): Evidence {
  const evidence = goodEvidence();
  const death = { how: 'was ended by SIGKILL', injected: 'SIGKILL' as const, wasBooting: false };
  evidence.deaths.push({ ...death, process: 'gateway-1', atMs: START - 60_000, backMs: START - 40_000 });
  const refused = { ...evidence.calls[0]!, marker: 'late', status: null, ending: 'none' as const, generationId: null };
  evidence.calls.push({ ...refused, startMs, endMs: startMs + 5 });
  return evidence;
}

describe(findStormViolations, () => {
  it('finds nothing wrong where nothing is', () => {
    expect(findStormViolations(goodEvidence())).toEqual([]);
  });

  it.each(PLANTED)('finds %s', (_what, promise, plant) => {
    const evidence = goodEvidence();
    plant(evidence);
    expect(findStormViolations(evidence).map((violation) => violation.promise)).toContain(promise);
  });

  it('excuses what the death of a gateway explains', () => {
    const evidence = goodEvidence();
    Object.assign(evidence.calls[0]!, { status: null, ending: 'none', generationId: null });
    Object.assign(evidence.calls[1]!, { ending: 'broken', endings: 0 });
    Object.assign(evidence.dump.generations[0]!, { state: 'abandoned', costUsd: '0' });
    evidence.dump.charges.shift();
    evidence.deaths.push({
      process: 'gateway-1',
      atMs: START + 50,
      how: 'was ended by SIGKILL',
      injected: 'SIGKILL',
      wasBooting: false,
      backMs: START + 60,
    });
    expect(findStormViolations(evidence)).toEqual([]);
  });

  it('excuses calls that are refused until a gateway has booted again, and none after that', () => {
    const promise = 'every request has an answer';
    const found = (startMs: number): string[] => findStormViolations(refusedAt(startMs)).map((one) => one.promise);
    expect(found(START - 42_000)).not.toContain(promise);
    expect(found(START - 38_000)).toContain(promise);
  });

  it('excuses an answer that a fault explains', () => {
    const evidence = goodEvidence();
    const last = evidence.upstreamCalls.at(-1)!;
    evidence.upstreamCalls.push({ ...last, startMs: 2_000 });
    const fault = {
      index: 1,
      kind: 'kill-postgres',
      target: 'postgres',
      startMs: 1_000,
      endMs: 1_500,
      note: '',
    } as const;
    evidence.faults.push(fault);
    expect(findStormViolations(evidence)).toEqual([]);
  });

  it('excuses a line that is asked for again by a retry', () => {
    const evidence = goodEvidence();
    const retried = linesOf('retried', 1);
    const endpoint = '/v1/chat/completions' as const;
    evidence.batchSubmissions.push({ name: 'retried', endpoint, lines: retried });
    evidence.batchSubmissions.push({ name: 'batch-8-again', endpoint, lines: retried });
    addBatch(evidence, 'batch-8', retried);
    addBatch(evidence, 'batch-9', retried);
    const [first, again] = evidence.dump.batches.slice(-2);
    Object.assign(first!, { status: 'cancelled', completed: 0, failed: 1 });
    again!.idempotencyKey = 'batch-8-again';
    evidence.dump.holds.find(({ id }) => id === 'batch-8')!.settledUsd = '0';
    evidence.dump.results = evidence.dump.results.filter(({ batchId }) => batchId !== 'batch-8');
    evidence.dump.charges = evidence.dump.charges.filter(({ reference }) => !reference.startsWith('gen-batch-8'));
    const call = { ...evidence.upstreamCalls.at(-1)!, marker: retried[0]!.marker };
    evidence.upstreamCalls.push(call, { ...call, startMs: 2_000 });
    expect(findStormViolations(evidence)).toEqual([]);
  });

  it('excuses a revoked key while auth cannot be asked', () => {
    const evidence = goodEvidence();
    Object.assign(evidence.calls[0]!, { key: 'key-1', startMs: START + 6_500 });
    evidence.faults.push({
      index: 1,
      kind: 'freeze-app',
      target: 'auth',
      startMs: START,
      endMs: START + 6_000,
      note: '',
    });
    expect(findStormViolations(evidence)).toEqual([]);
  });

  it('excuses the temporary refusals of faults', () => {
    const evidence = goodEvidence();
    const refused = [429, 502, 503, 504, 529].map((status) => call(`s-${status}`, { status, generationId: null }));
    evidence.calls.push(...(refused as Mutable<CallRecord>[]));
    expect(findStormViolations(evidence)).toEqual([]);
  });
});

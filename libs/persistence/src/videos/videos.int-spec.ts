import { randomUUID } from 'node:crypto';
import { AppError } from '@libs/errors';
import { AuditRepository } from '../audit/audit.repository';
import { GenerationsRepository } from '../generations/generations.repository';
import { LedgerRepository } from '../ledger/ledger.repository';
import { OutboxRepository } from '../outbox/outbox.repository';
import { anOpening, aSettlement, aVideo, openTestDatabase, storeVideo, type OpenTestDatabase } from '../testing';
import { VideoEndsRepository, type VideoEnd } from './video-ends.repository';
import { SubmittedBefore } from '../submitted-rows';
import { VideoIntakeRepository } from './video-intake.repository';
import { VideoJobsRepository, type VideoJob } from './video-jobs.repository';
import { VideoReviewsRepository, type Reviewer } from './video-reviews.repository';
import { VideoViewsRepository } from './video-views.repository';

const LEASE_MS = 30_000;
const DONE: VideoEnd = {
  status: 'completed',
  outputs: [{ key: 'videos/x/0', contentType: 'video/mp4', bytes: 7 }],
  keepMs: 3_600_000,
  costUsd: '0.5',
  upstreamCostUsd: null,
};
const FAILED: VideoEnd = { status: 'failed', errorMessage: 'It rained.' };
const silent = async (): Promise<void> => undefined;

let opened: OpenTestDatabase;
let ledger: LedgerRepository;
let intake: VideoIntakeRepository;
let jobs: VideoJobsRepository;
let ends: VideoEndsRepository;
let views: VideoViewsRepository;
let reviews: VideoReviewsRepository;

beforeAll(async () => {
  opened = await openTestDatabase();
  const { database } = opened;
  ledger = new LedgerRepository(database);
  intake = new VideoIntakeRepository(database, ledger, new OutboxRepository(database));
  jobs = new VideoJobsRepository(database);
  ends = new VideoEndsRepository(database, ledger);
  views = new VideoViewsRepository(database);
  reviews = new VideoReviewsRepository(database, new AuditRepository(database));
});

afterAll(() => opened.close());

afterEach(async () => {
  expect(await ledger.audit()).toEqual([]);
  await opened.database.execute({ sql: 'DELETE FROM videos' });
});

/** The one job that is due. */
async function claim(): Promise<VideoJob> {
  const [job, ...more] = await jobs.claimDue(10, LEASE_MS);
  expect(more).toEqual([]);
  return job!;
}

async function submitted(): Promise<VideoJob> {
  const job = await claim();
  await jobs.beginSubmission(job);
  expect(await jobs.markSubmitted(job, { id: 'up-1' }, 0)).toBe(true);
  return claim();
}

/** Resolves when a statement in this database waits for a lock. */
async function untilSomebodyWaits(): Promise<void> {
  for (;;) {
    const waiting = await opened.database.rows({
      sql: `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    });
    if (waiting.length > 0) return;
  }
}

const leaseRunsOut = (): Promise<number> =>
  opened.database.execute({ sql: `UPDATE videos SET lease_until = now() - interval '1 second'` });
const amountsOf = async (id: string): Promise<string[]> =>
  (
    await opened.database.rows<{ amount: string }>({
      sql: `SELECT amount_usd::float8::text AS amount FROM ledger_transfers WHERE reference = $1 AND kind = 'charge'`,
      values: [id],
    })
  ).map(({ amount }) => amount);

describe(VideoIntakeRepository.name, () => {
  it('stores nothing of a job that is not covered', async () => {
    const video = aVideo();
    await expect(intake.accept(video)).rejects.toMatchObject({ code: 'payment_required' });
    await expect(intake.accept(video)).rejects.toBeInstanceOf(AppError);
    expect(await views.findForWorkspace(video.id, video)).toBeNull();
    expect(
      await opened.database.rows({
        sql: 'SELECT 1 FROM outbox WHERE payload::text LIKE $1',
        values: [`%${video.id}%`],
      }),
    ).toEqual([]);
  });

  it('stores a job right after an answer whose hold is in its way for a moment', async () => {
    const video = aVideo();
    await ledger.topUp(video.organizationId, video.holdUsd, randomUUID());
    const generations = new GenerationsRepository(opened.database);
    const { organizationId, workspaceId, apiKeyHash } = video;
    const call = anOpening({ organizationId, workspaceId, apiKeyHash, holdUsd: video.holdUsd });
    expect(await generations.open([call])).toMatchObject([{ refusedBy: null }]);
    setTimeout(() => void generations.settle([aSettlement(call, '0')]), 30);
    expect(await intake.accept(video)).toMatchObject({ id: video.id, status: 'pending' });
  });

  it('holds the price, and owes the nudge, in the commit that stores the job', async () => {
    const video = await storeVideo(opened.database);
    expect(await ledger.accountOf(video.organizationId)).toMatchObject({ heldUsd: expect.stringMatching(/^0\.50*$/) });
    const rows = await opened.database.rows<{ contract: string }>({
      sql: `SELECT contract FROM outbox WHERE payload->>'videoId' = $1`,
      values: [video.id],
    });
    expect(rows).toEqual([{ contract: 'videos.advance-video' }]);
  });

  it('knows a key that was used before in the workspace, and holds nothing for the second job', async () => {
    const idempotency = { key: 'once', requestHash: 'b'.repeat(64) };
    const first = await storeVideo(opened.database, { idempotency });
    const { organizationId, workspaceId } = first;
    await expect(intake.accept(aVideo({ organizationId, workspaceId, idempotency }))).rejects.toBeInstanceOf(
      SubmittedBefore,
    );
    expect(await intake.findSubmitted(first, 'once')).toEqual({ id: first.id, requestHash: 'b'.repeat(64) });
    expect(await intake.findSubmitted({ ...first, workspaceId: randomUUID() }, 'once')).toBeNull();
    expect(await ledger.accountOf(organizationId)).toMatchObject({ heldUsd: expect.stringMatching(/^0\.50*$/) });
    await opened.database.execute({ sql: `UPDATE videos SET created_at = now() - interval '25 hours'` });
    expect(await intake.forgetOldKeys()).toBe(1);
    expect(await intake.findSubmitted(first, 'once')).toBeNull();
  });
});

describe(VideoJobsRepository.name, () => {
  it('gives a due job to one claimer, and to the next when the lease has run out', async () => {
    await storeVideo(opened.database);
    const claims = await Promise.all([1, 2, 3, 4].map(() => jobs.claimDue(10, LEASE_MS)));
    expect(claims.flat()).toHaveLength(1);
    expect(await jobs.claimDue(10, LEASE_MS)).toEqual([]);
    await leaseRunsOut();
    const [taken] = await jobs.claimDue(10, LEASE_MS);
    expect(taken!.fence).toBe(claims.flat()[0]!.fence + 1n);
  });

  it('takes of each provider, and of each organization at it, only as many as there is room for', async () => {
    const organizationId = randomUUID();
    for (let index = 0; index < 3; index += 1) await storeVideo(opened.database, { provider: 'busy' });
    for (let index = 0; index < 3; index += 1) {
      await storeVideo(opened.database, { provider: 'calm', organizationId });
    }
    await storeVideo(opened.database, { provider: 'calm' });
    const rooms = {
      accounts: { of: { [`calm ${organizationId}`]: 1 }, newcomer: 9 },
      providers: { of: { busy: 2 }, newcomer: 9 },
    };
    const taken = await jobs.claimDue(10, LEASE_MS, [], rooms);
    expect(taken.map(({ provider }) => provider).toSorted()).toEqual(['busy', 'busy', 'calm', 'calm']);
    await jobs.giveBack(taken);
    expect(await jobs.claimDue(10, LEASE_MS)).toHaveLength(7);
  });

  it('lets no late holder of a job write anything', async () => {
    await storeVideo(opened.database);
    const late = await claim();
    await jobs.beginSubmission(late);
    await leaseRunsOut();
    const holder = await claim();
    expect(holder).toMatchObject({ step: 'submitting', attempts: 1 });
    expect(await jobs.beginSubmission(late)).toBeNull();
    expect(await jobs.markSubmitted(late, { id: 'other' }, 0)).toBe(false);
    expect(await ends.finish(late, FAILED, silent)).toBe(false);
    await jobs.renew([late], 3_600_000);
    await jobs.wait([{ job: late, status: 'in_progress', delayMs: 0 }]);
    await jobs.retrySubmission(late, 'submit', 0);
    expect(await jobs.claimDue(10, LEASE_MS)).toEqual([]);
    expect(await jobs.markSubmitted(holder, { id: 'ours' }, 0)).toBe(true);
    expect(await claim()).toMatchObject({ step: 'poll', operation: { id: 'ours' } });
  });

  it('leaves a job free that was given back while its lease was being extended', async () => {
    await storeVideo(opened.database);
    const job = await claim();
    await jobs.renew([job], 3_600_000);
    await leaseRunsOut();
    const holder = await claim();
    await jobs.retrySubmission(holder, 'submit', 0);
    await jobs.renew([holder], 3_600_000);
    expect(await claim()).toMatchObject({ id: job.id, fence: holder.fence + 1n });
  });

  it('hands out a request once for each try, and drops it when it is submitted', async () => {
    const video = await storeVideo(opened.database);
    const job = await claim();
    expect(await jobs.beginSubmission(job)).toEqual({ prompt: 'A heron lands.' });
    await jobs.markSubmitted(job, { id: 'up-1' }, 0);
    expect(
      await opened.database.firstRow({ sql: 'SELECT request FROM videos WHERE id = $1', values: [video.id] }),
    ).toEqual({
      request: null,
    });
  });

  it('keeps what was seen in progress there, counts looks, and waits no longer than the job lives', async () => {
    const video = await storeVideo(opened.database);
    const job = await submitted();
    await jobs.wait([{ job, status: 'in_progress', delayMs: 0 }]);
    const again = await claim();
    await jobs.wait([{ job: again, status: 'pending', delayMs: 2_000_000_000, isOutputGone: true }]);
    expect(await jobs.claimDue(10, LEASE_MS)).toEqual([]);
    const row = await opened.database.firstRow({
      sql: `SELECT status, attempts, output_attempts, next_at = expires_at AS waits FROM videos WHERE id = $1`,
      values: [video.id],
    });
    expect(row).toEqual({ status: 'in_progress', attempts: 2, output_attempts: 1, waits: true });
  });
});

describe(VideoEndsRepository.name, () => {
  it('settles a job once, whoever ends it how often', async () => {
    const video = await storeVideo(opened.database);
    const job = await submitted();
    let told = 0;
    const tell = async (): Promise<void> => void (told += 1);
    const results = await Promise.all([
      ends.finish(job, DONE, tell),
      ends.finish(job, DONE, tell),
      ends.finish(job, FAILED, tell),
    ]);
    expect(results.filter(Boolean)).toHaveLength(1);
    expect(told).toBe(1);
    const isDone = results[2] === false;
    expect(await amountsOf(video.id)).toEqual(isDone ? ['0.5'] : []);
    expect(await ledger.accountOf(video.organizationId)).toMatchObject({
      heldUsd: expect.stringMatching(/^0(\.0+)?$/),
      balanceUsd: expect.stringMatching(isDone ? /^9\.50*$/ : /^10(\.0+)?$/),
    });
  });

  it('waits for the account before it locks the day of the key, as settlements of calls do', async () => {
    const video = await storeVideo(opened.database);
    const job = await submitted();
    const day = `SELECT 1 FROM ledger_key_days WHERE api_key_hash = $1 FOR UPDATE NOWAIT`;
    const { database } = opened;
    await database.execute({
      sql: `INSERT INTO ledger_key_days (api_key_hash, day, charged_usd)
            VALUES ($1, (now() AT TIME ZONE 'UTC')::date, 0) ON CONFLICT DO NOTHING`,
      values: [video.apiKeyHash],
    });
    let ended: Promise<boolean> | undefined;
    await database.transaction(async (session) => {
      await session.execute({
        sql: 'SELECT 1 FROM ledger_accounts WHERE id = $1 FOR UPDATE',
        values: [`org:${video.organizationId}`],
      });
      ended = ends.finish(job, DONE, silent);
      await untilSomebodyWaits();
      expect(await session.execute({ sql: day, values: [video.apiKeyHash] })).toBe(1);
    });
    expect(await ended).toBe(true);
    expect(await amountsOf(video.id)).toEqual(['0.5']);
  });

  it('stores the news, or nothing of the end', async () => {
    const video = await storeVideo(opened.database);
    const job = await submitted();
    await expect(ends.finish(job, DONE, async () => Promise.reject(new Error('no news')))).rejects.toThrow('no news');
    expect(await views.findForWorkspace(video.id, video)).toMatchObject({ status: 'pending' });
    expect(await amountsOf(video.id)).toEqual([]);
    expect(await ends.finish(job, FAILED, silent)).toBe(true);
  });

  it('fails a job whose provider sends a message with a NUL, and announces it without the NUL', async () => {
    const video = await storeVideo(opened.database);
    const announced: VideoEnd[] = [];
    const announce = async (_session: unknown, ended: VideoEnd): Promise<void> => void announced.push(ended);
    const end: VideoEnd = { status: 'failed', errorMessage: 'It\0rained.' };
    expect(await ends.finish(await submitted(), end, announce)).toBe(true);
    const stored = { status: 'failed', errorMessage: 'It\u{fffd}rained.' };
    expect(announced).toEqual([stored]);
    expect(await views.findForWorkspace(video.id, video)).toMatchObject(stored);
  });

  it('finds copies that are over their time, and shows none of them', async () => {
    const video = await storeVideo(opened.database);
    await ends.finish(await submitted(), DONE, silent);
    expect(await views.findForWorkspace(video.id, video)).toMatchObject({ outputs: DONE.outputs });
    expect(await views.findForWorkspace(video.id, { ...video, workspaceId: randomUUID() })).toBeNull();
    expect(await ends.findOutdated(10)).toEqual([]);
    await opened.database.execute({ sql: `UPDATE videos SET outputs_expire_at = now() - interval '1 second'` });
    expect(await ends.findOutdated(10)).toEqual([{ id: video.id, outputs: DONE.outputs }]);
    expect(await views.findForWorkspace(video.id, video)).toMatchObject({
      outputs: null,
      status: 'completed',
    });
    await ends.forgetOutputs(video.id);
    expect(await ends.findOutdated(10)).toEqual([]);
  });
});

describe(VideoReviewsRepository.name, () => {
  const REVIEW_MS = 3_600_000;
  const OPERATOR: Reviewer = { operator: 'ada', requestId: 'sluice-1' };

  /** A job that went into review in the hands of the worker that is returned. */
  async function inReview(values: Parameters<typeof storeVideo>[1] = {}): Promise<VideoJob> {
    await storeVideo(opened.database, values);
    const job = await claim();
    await jobs.beginSubmission(job);
    expect(await jobs.sendToReview(job, REVIEW_MS)).toBe(true);
    return job;
  }
  const heldFor = async ({ organizationId }: VideoJob): Promise<number> =>
    Number((await ledger.accountOf(organizationId)).heldUsd);
  const trail = ({ organizationId }: VideoJob): Promise<object[]> =>
    opened.database.rows({
      sql: `SELECT key_id, operator, action, target, request_id, status FROM audit_entries WHERE organization_id = $1`,
      values: [organizationId],
    });

  it('lists what is in review, which is open, held for and due to nobody', async () => {
    const job = await inReview();
    const [listed, ...more] = await reviews.list(10);
    expect(more).toEqual([]);
    expect(listed).toMatchObject({ id: job.id, provider: 'vendor', upstreamModel: 'film', model: 'vendor/film' });
    expect(listed!.endsAt.getTime()).toBeGreaterThan(listed!.createdAt.getTime());
    expect(await views.findForWorkspace(job.id, job)).toMatchObject({ status: 'pending' });
    expect(await heldFor(job)).toBe(0.5);
    expect(await jobs.claimDue(10, LEASE_MS)).toEqual([]);
  });

  it('takes a job up again that was found at its provider, for an hour at least, and writes down by whom', async () => {
    const job = await inReview();
    await opened.database.execute({ sql: `UPDATE videos SET expires_at = now() - interval '1 minute'` });
    await reviews.resolve(job.id, { kind: 'submitted', upstreamId: 'up-9' }, OPERATOR);
    expect(await claim()).toMatchObject({ step: 'poll', operation: { id: 'up-9' }, attempts: 0, isOverdue: false });
    expect(await reviews.list(10)).toEqual([]);
    expect(await heldFor(job)).toBe(0.5);
    expect(await trail(job)).toEqual([
      {
        key_id: null,
        operator: 'ada',
        action: 'sluice videos resolve --submitted',
        target: job.id,
        request_id: 'sluice-1',
        status: 200,
      },
    ]);
  });

  it('makes a job due that failed, whose end gives its hold back', async () => {
    const job = await inReview();
    await reviews.resolve(job.id, { kind: 'failed' }, OPERATOR);
    const due = await claim();
    expect(due).toMatchObject({ step: 'submitting', needsReview: true });
    expect(await ends.finish(due, FAILED, silent)).toBe(true);
    expect(await heldFor(job)).toBe(0);
    expect(await reviews.list(10)).toEqual([]);
    expect(await trail(job)).toMatchObject([{ action: 'sluice videos resolve --failed' }]);
  });

  it('lets whoever held the job write nothing after the decision', async () => {
    const late = await inReview();
    await reviews.resolve(late.id, { kind: 'failed' }, OPERATOR);
    expect(await jobs.markSubmitted(late, { id: 'late' }, 0)).toBe(false);
    expect(await jobs.sendToReview(late, REVIEW_MS)).toBe(false);
    expect(await ends.finish(late, FAILED, silent)).toBe(false);
    expect(await claim()).toMatchObject({ needsReview: true, operation: null });
  });

  it('decides nothing about a job that is not in review, and writes nothing down', async () => {
    await storeVideo(opened.database);
    const job = await claim();
    const verdict = { kind: 'failed' } as const;
    await expect(reviews.resolve(job.id, verdict, OPERATOR)).rejects.toMatchObject({ code: 'conflict' });
    await expect(reviews.resolve('gen-vid-1-x', verdict, OPERATOR)).rejects.toMatchObject({ code: 'not_found' });
    await jobs.beginSubmission(job);
    await jobs.sendToReview(job, 0);
    const ending = await claim();
    await expect(reviews.resolve(job.id, verdict, OPERATOR)).rejects.toMatchObject({ code: 'conflict' });
    expect(await ends.finish(ending, FAILED, silent)).toBe(true);
    await expect(reviews.resolve(job.id, verdict, OPERATOR)).rejects.toMatchObject({ code: 'conflict' });
    expect(await trail(job)).toEqual([]);
  });

  it('gives no two jobs one job of a provider', async () => {
    const [first, second, elsewhere] = [await inReview(), await inReview(), await inReview({ provider: 'another' })];
    const verdict = { kind: 'submitted', upstreamId: 'up-1' } as const;
    const decisions = await Promise.allSettled([first, second].map(({ id }) => reviews.resolve(id, verdict, OPERATOR)));
    expect(decisions.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await reviews.list(10)).toHaveLength(2);
    await reviews.resolve(elsewhere.id, verdict, OPERATOR);
    expect(await reviews.list(10)).toHaveLength(1);
  });
});

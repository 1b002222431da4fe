import { Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { Cancellation, parseRate, upstreamError } from '@libs/inference';
import { aProvider } from '@libs/inference/testing';
import {
  LedgerRepository,
  VideoEndsRepository,
  VideoJobsRepository,
  type VideoJob,
  type WebhookDeliveriesRepository,
} from '@libs/persistence';
import { openTestDatabase, storeVideo, type OpenTestDatabase } from '@libs/persistence/testing';
import type { BlobStore, Egress } from '@libs/platform';
import type { VideoWorkerEnv } from '../video-worker.env';
import { OutputKeeper } from './output-keeper';
import { VideoCloserService } from './video-closer.service';
import type { VideoEndpoints } from './video-endpoints';
import { VideoPollService } from './video-poll.service';

const MP4 = Buffer.from('\0\0\0\x18ftypisom and what follows', 'latin1');
const ENV = { VIDEO_RETENTION_HOURS: 1, PUBLIC_URL: 'http://localhost' } as VideoWorkerEnv;
const answered = (status: number): AppError => upstreamError(aProvider(), status, {}, Buffer.from('{}'));

describe(VideoPollService.name, () => {
  let opened: OpenTestDatabase;
  let jobs: VideoJobsRepository;
  let service: VideoPollService;
  /** What the provider says instead of a film, and our storage instead of taking it, for so many tries. */
  let trouble: { content: AppError | null; storage: AppError | null; tries: number };
  let content: Buffer;
  let fetches: number;
  let delays: number[];
  /** What the provider says that the video took, and what its endpoint costs. */
  let bill: { readonly completionTokens?: number; readonly pricing?: object };

  beforeAll(async () => {
    Logger.overrideLogger(false);
    opened = await openTestDatabase();
    jobs = new VideoJobsRepository(opened.database);
  });

  afterAll(() => opened.close());

  beforeEach(async () => {
    trouble = { content: null, storage: null, tries: 0 };
    [content, fetches, delays, bill] = [MP4, 0, [], {}];
    service = new VideoPollService(
      { routeOf: async () => route() } as unknown as VideoEndpoints,
      new OutputKeeper({ write } as unknown as BlobStore, null as unknown as Egress),
      new VideoCloserService(
        new VideoEndsRepository(opened.database, new LedgerRepository(opened.database)),
        null as unknown as WebhookDeliveriesRepository,
        ENV,
      ),
      ENV,
    );
    await opened.database.execute({ sql: 'DELETE FROM videos' });
  });

  const isInTrouble = (): boolean => (trouble.tries -= 1) >= 0;

  function route(): object {
    const open = async (): Promise<object> => {
      fetches += 1;
      if (trouble.content !== null && isInTrouble()) throw trouble.content;
      const left = [content];
      return { kind: 'stream', stream: { read: async () => left.shift() ?? null, cancel: () => undefined } };
    };
    const { pricing, completionTokens } = bill;
    const status = async (): Promise<object> => ({ state: 'completed', outputs: [{ path: '/x' }], completionTokens });
    return { api: { status, open }, endpoint: { pricing }, accessFor: () => ({}), noteAnswer: () => undefined };
  }

  async function write(_key: string, chunks: AsyncIterable<Buffer>): Promise<number> {
    if (trouble.storage !== null && isInTrouble()) throw trouble.storage;
    let bytes = 0;
    for await (const chunk of chunks) bytes += chunk.length;
    return bytes;
  }

  async function polled(): Promise<void> {
    await storeVideo(opened.database);
    await opened.database.execute({
      sql: `UPDATE videos SET step = 'poll', operation = '{"id": "up-1"}', request = NULL`,
    });
  }

  /** Looks after the job as often as its waits allow, without waiting. Returns how it ended. */
  async function followed(tries: number): Promise<object | null> {
    for (let n = 0; n < tries; n += 1) {
      await opened.database.execute({ sql: `UPDATE videos SET next_at = now(), lease_until = NULL` });
      const [job] = await jobs.claimDue(1, 60_000);
      if (job === undefined) break;
      await look(job);
    }
    return opened.database.firstRow({
      sql: 'SELECT status, error_message AS error, output_attempts AS counted FROM videos',
    });
  }

  async function look(job: VideoJob): Promise<void> {
    const wait = await service.run(job, new Cancellation());
    if (wait === null) return;
    delays.push(wait.delayMs);
    await jobs.wait([wait]);
  }

  it('fetches a finished video for as long as its job has time, ever more rarely', async () => {
    await polled();
    trouble = { content: answered(503), storage: null, tries: 20 };
    expect(await followed(20)).toEqual({ status: 'in_progress', error: null, counted: 0 });
    expect(Math.min(...delays.slice(10))).toBeGreaterThan(200_000);
    expect(Math.max(...delays)).toBeLessThanOrEqual(300_000);
    expect(await followed(1)).toEqual({ status: 'completed', error: null, counted: 0 });
    expect(fetches).toBe(21);
  });

  it('keeps a finished video although our storage takes nothing for a while', async () => {
    await polled();
    trouble = { content: null, storage: new AppError('server', 'Internal error'), tries: 20 };
    expect(await followed(20)).toEqual({ status: 'in_progress', error: null, counted: 0 });
    expect(await followed(1)).toMatchObject({ status: 'completed' });
  });

  it('fetches a video once however often its commit fails', async () => {
    await polled();
    await opened.database.execute({ sql: 'CREATE SEQUENCE commits' });
    await opened.database.execute({
      sql: `CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              IF nextval('commits') <= 20 THEN RAISE EXCEPTION 'terminating' USING ERRCODE = '57P01'; END IF;
              RETURN NEW; END $$`,
    });
    await opened.database.execute({
      sql: `CREATE TRIGGER away BEFORE INSERT ON ledger_transfers FOR EACH ROW WHEN (NEW.kind = 'charge')
            EXECUTE FUNCTION away()`,
    });
    try {
      expect(await followed(20)).toEqual({ status: 'in_progress', error: null, counted: 0 });
      expect(await followed(1)).toMatchObject({ status: 'completed' });
      expect(fetches).toBe(1);
    } finally {
      await opened.database.execute({ sql: 'DROP TRIGGER away ON ledger_transfers' });
    }
  });

  it.each([404, 410])('gives up a video of which its provider says seven times that it is gone: %d', async (status) => {
    await polled();
    trouble = { content: answered(status), storage: null, tries: 100 };
    expect(await followed(6)).toEqual({ status: 'in_progress', error: null, counted: 6 });
    expect(delays.reduce((sum, ms) => sum + ms)).toBeGreaterThan(45_000);
    expect(await followed(1)).toMatchObject({
      status: 'failed',
      error: 'The provider no longer has the finished video',
    });
  });

  it('gives up at once what is no video', async () => {
    await polled();
    content = Buffer.from('<html>so sorry</html>');
    expect(await followed(1)).toMatchObject({
      status: 'failed',
      error: 'The finished video could not be fetched from the provider',
    });
  });

  it.each([
    ['content', answered(503), 'The finished video could not be fetched from the provider'],
    ['storage', new AppError('server', 'Internal error'), 'The finished video could not be stored by this service'],
  ])('says whose fault it is when the time of a job is over: %s', async (where, error, words) => {
    await polled();
    trouble = { content: null, storage: null, [where]: error, tries: 100 };
    expect(await followed(3)).toMatchObject({ status: 'in_progress' });
    await opened.database.execute({ sql: `UPDATE videos SET expires_at = now() - interval '1 second'` });
    expect(await followed(1)).toMatchObject({ status: 'failed', error: words });
  });

  describe('charges', () => {
    const BY_TOKEN = { prompt: 0n, completion: parseRate('0.000001') };
    const chargedFor = async (completionTokens: number | undefined, pricing: object): Promise<number> => {
      await polled();
      bill = { pricing, ...(completionTokens !== undefined && { completionTokens }) };
      await followed(1);
      const row = await opened.database.firstRow<{ usd: string }>({
        sql: `SELECT t.amount_usd::text AS usd FROM videos v LEFT JOIN ledger_transfers t ON t.reference = v.id`,
      });
      return Number(row?.usd);
    };

    it('the tokens that the provider counted', async () => {
      expect(await chargedFor(300_000, BY_TOKEN)).toBe(0.3);
    });

    it.each([0, -1, 1.5, 1e15, undefined])('the price that was held when the count is %p', async (tokens) => {
      expect(await chargedFor(tokens, BY_TOKEN)).toBe(0.5);
    });

    it.each([
      ['video', { video: parseRate('0.4') }],
      ['second', { videoSecond: parseRate('0.1') }],
      ['second of its resolution', { videoSecondByResolution: { '720p': parseRate('0.1') } }],
    ])('no less than the price that was held where each %s has a price, too', async (_what, more) => {
      expect(await chargedFor(1_000, { ...BY_TOKEN, ...more })).toBe(0.5);
    });
  });

  it('keeps copies for their time by the clock of PostgreSQL', async () => {
    await polled();
    const nowMs = Date.now();
    const clock = jest.spyOn(Date, 'now').mockReturnValue(nowMs - 7_200_000);
    try {
      await followed(1);
    } finally {
      clock.mockRestore();
    }
    const row = await opened.database.firstRow({
      sql: `SELECT outputs_expire_at > now() + interval '50 minutes' AS kept FROM videos`,
    });
    expect(row).toEqual({ kept: true });
  });
});

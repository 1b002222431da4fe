import { spawnSync } from 'node:child_process';
import { FAILPOINTS, type Failpoint } from '@libs/failpoints';
import { LedgerRepository } from '@libs/persistence';
import { RECALLS } from '../support/billed-videos';
import { dyingAt } from '../support/failpoint-deaths';
import { entryOf } from '../support/installation-parts';
import { BatchOrdeals } from '../support/ordeals/batch-ordeals';
import { CallOrdeals } from '../support/ordeals/call-ordeals';
import { CredentialOrdeals, newRingKey } from '../support/ordeals/credential-ordeals';
import { END_MS, FailpointStage } from '../support/ordeals/failpoint-stage';
import type { Ordeal } from '../support/ordeals/ordeal';
import { TokenOrdeals } from '../support/ordeals/token-ordeals';
import { VideoOrdeals } from '../support/ordeals/video-ordeals';

/**
 * Every failpoint of docs/failpoints.md: an app dies there, comes back, and afterwards nothing is lost, doubled or
 * billed twice, and no money is held for what is over.
 *
 * The short form takes each app through all of its failpoints, one death after another. `SLUICE_CHAOS=full` runs the
 * long form: each failpoint alone, fifty times.
 */
const FULL = process.env.SLUICE_CHAOS === 'full';

const HITS = 50;
const LINES = FULL ? 150 : 40;
const BOOT_TIMEOUT_MS = 240_000;

let stage: FailpointStage;
let batches: BatchOrdeals;
let calls: CallOrdeals;
let videos: VideoOrdeals;
let credentials: CredentialOrdeals;
let tokens: TokenOrdeals;

beforeAll(async () => {
  const ring = newRingKey();
  stage = await FailpointStage.start(ring);
  batches = new BatchOrdeals(stage, LINES);
  calls = new CallOrdeals(stage);
  videos = new VideoOrdeals(stage);
  credentials = new CredentialOrdeals(stage, ring);
  tokens = new TokenOrdeals(stage);
}, BOOT_TIMEOUT_MS);

afterAll(() => stage?.stop(), BOOT_TIMEOUT_MS);

jest.setTimeout(FULL ? 3_600_000 : 2 * END_MS);

describe('an app that is to die at a failpoint', () => {
  it('does not start with a failpoint that is none, and says what would be one', () => {
    const { status, stderr } = spawnSync(process.execPath, [entryOf('batch-worker')], {
      env: { PATH: process.env.PATH, ...dyingAt('no-such-moment:kill9@1') },
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('Error: FAILPOINT must be NAME:kill9@PASS');
  });
});

if (FULL) {
  const timesOver = async (newOrdeal: (turn: number) => Ordeal | Promise<Ordeal>): Promise<void> => {
    for (let turn = 0; turn < HITS; turn += 1) await stage.endure(await newOrdeal(turn));
  };
  const ordeals: Readonly<Record<Failpoint, (turn: number) => Ordeal | Promise<Ordeal>>> = {
    'batch-stored': () => batches.intake('batch-stored', 0),
    'batch-accepted': () => batches.intake('batch-accepted', 1),
    'call-covered': (turn) => calls.call('call-covered', turn % 2 === 0),
    'stream-begun': () => calls.call('stream-begun', true),
    'call-answered': (turn) => calls.call('call-answered', turn % 2 === 0),
    'outbox-selected': () => batches.relay('outbox-selected'),
    'job-published': () => batches.relay('job-published'),
    'outbox-confirmed': () => batches.relay('outbox-confirmed'),
    'batch-nudged': () => batches.run(['batch-nudged', 1]),
    'line-leased': (turn) => batches.run(['line-leased', 1 + ((turn * 37) % LINES)]),
    'line-answered': (turn) => batches.run(['line-answered', 1 + ((turn * 37) % LINES)]),
    'results-committed': () => batches.run(['results-committed', 1]),
    'job-handled': () => batches.run(['job-handled', 1]),
    'batch-finalizing': () => batches.run(['batch-finalizing', 1]),
    'batch-completed': () => batches.run(['batch-completed', 1]),
    'video-submitted': (turn) => videos.video(RECALLS[turn % RECALLS.length]!, 'video-submitted'),
    'video-fetched': (turn) => videos.video(RECALLS[turn % RECALLS.length]!, 'video-fetched'),
    'webhook-sent': (turn) => videos.video(RECALLS[turn % RECALLS.length]!, 'webhook-sent'),
    'data-keys-rewrapped': () => credentials.rewrapping(),
    'credential-erased': () => credentials.erasing(),
    'token-id-claimed': () => tokens.exchange(),
    'upstream-batch-removed': () => batches.upstreamRemoval(),
    'batch-table-purged': (turn) => batches.purge(turn % 2 === 0 ? 1 : 2),
  };

  describe('an app that dies', () => {
    it.each(FAILPOINTS)('at %s, fifty times, loses, doubles and overcharges nothing', (point) =>
      timesOver(ordeals[point]),
    );
  });
} else {
  describe('the gateway', () => {
    it('dies while it takes batches in, sends messages, calls providers and removes a batch, and does each once', async () => {
      await stage.endure(
        await batches.purge(1),
        batches.intake('batch-stored', 0),
        batches.intake('batch-accepted', 1),
        batches.relay('outbox-selected'),
        batches.relay('job-published'),
        batches.relay('outbox-confirmed'),
        await calls.call('call-covered', false),
        await calls.call('stream-begun', true),
        await calls.call('call-answered', false),
      );
    });
  });

  describe('a batch worker', () => {
    it('dies at every step of a batch, and at its removal, and each line has one result and one charge', async () => {
      await stage.endure(
        batches.run(
          ['batch-nudged', 1],
          ['job-handled', 1],
          ['line-leased', 5],
          ['line-answered', 20],
          ['results-committed', 1],
          ['batch-finalizing', 1],
          ['batch-completed', 1],
        ),
        await batches.upstreamRemoval(),
      );
    });
  });

  describe('a video worker', () => {
    it('dies at every step of a job, which is paid for once and announced under one id', async () => {
      await stage.endure(videos.video('keyed', 'video-submitted', 'video-fetched', 'webhook-sent'));
      await stage.endure(videos.video('listed', 'video-submitted'), videos.video('plain', 'video-submitted'));
    });
  });

  describe('the credentials app', () => {
    it('dies while it rewraps and erases keys, and each is whole or gone', async () => {
      const erasing = await credentials.erasing();
      await stage.endure(await credentials.rewrapping(), erasing);
    });
  });

  describe('the auth app', () => {
    it('dies when it has used up a token, and mints nothing for it later', async () =>
      stage.endure(await tokens.exchange()));
  });
}

describe('after all of that', () => {
  it('every failpoint was died at, nothing is held, and the books balance', async () => {
    const hits = Object.fromEntries(FAILPOINTS.map((point) => [point, stage.deaths.hits.get(point) ?? 0]));
    process.stderr.write(`      ${JSON.stringify(hits)}\n`);
    expect(FAILPOINTS.filter((point) => !stage.deaths.hits.has(point))).toEqual([]);
    await calls.giveUpDead();
    expect(await calls.heldUsd()).toBe(0n);
    expect(await stage.count(`SELECT count(*) FROM ledger_holds WHERE state = 'open'`)).toBe(0);
    expect(await stage.count(`SELECT count(*) FROM ledger_accounts WHERE held_usd <> 0`)).toBe(0);
    expect(await new LedgerRepository(stage.installation.database).audit()).toEqual([]);
  });
});

import { Logger } from '@nestjs/common';
import type { FeedChanges, FeedName, FeedPosition } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { FeedOwner } from './feed-owner';
import { FeedSource } from './feed-source';

const at = (revision: number): FeedPosition => ({ revision, mark: `mark-${revision}` });

class FakeSource extends FeedSource {
  revision = 5;
  reads = 0;
  pruned: number[] = [];
  failure: Error | undefined;

  override async changesSince(_feed: FeedName, since: FeedPosition | null): Promise<FeedChanges> {
    this.reads += 1;
    if (this.failure) throw this.failure;
    const position = at(this.revision);
    if (since === null || since.revision > position.revision) return { since: null, position, subjects: [] };
    const subjects = Array.from({ length: position.revision - since.revision }, (_, n) => `${since.revision + n + 1}`);
    return { since, position, subjects };
  }

  override async prune(_feed: FeedName, limit: number): Promise<number> {
    this.pruned.push(limit);
    return this.pruned.length < 3 ? limit : 0;
  }
}

describe(FeedOwner.name, () => {
  let source: FakeSource;
  let sent: FeedChanges[];
  let send: (event: object) => Promise<void>;
  let owner: FeedOwner;
  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(async () => {
    jest.useFakeTimers();
    source = new FakeSource();
    sent = [];
    send = async (event) => void sent.push(event as FeedChanges);
    owner = new FeedOwner('access', source, { send: (event) => send(event) });
    owner.start();
    await pass(0);
  });

  afterEach(async () => {
    await owner.stop();
    jest.useRealTimers();
  });

  it('publishes nothing of the time before its start', async () => {
    await pass(1_000);
    expect(sent).toEqual([]);
  });

  it('publishes a change before the call that made it is answered', async () => {
    source.revision = 7;
    await owner.announce();
    expect(sent).toEqual([{ since: at(5), position: at(7), subjects: ['6', '7'] }]);
  });

  it('publishes a change that others made within a fifth of a second', async () => {
    source.revision = 6;
    await pass(200);
    expect(sent).toMatchObject([{ position: at(6) }]);
    await pass(1_000);
    expect(sent).toHaveLength(1);
  });

  it('reads once for many calls that end together, after the last of them', async () => {
    const before = source.reads;
    const first = owner.announce();
    source.revision = 6;
    await Promise.all([first, ...Array.from({ length: 20 }, () => owner.announce())]);
    expect(source.reads - before).toBe(2);
    expect(sent.at(-1)).toMatchObject({ position: at(6) });
  });

  it('publishes later what the broker did not take', async () => {
    const take = send;
    send = () => Promise.reject(new AppError('unavailable', 'no broker'));
    source.revision = 6;
    await owner.announce();
    send = take;
    source.revision = 7;
    await pass(200);
    expect(sent).toEqual([{ since: at(5), position: at(7), subjects: ['6', '7'] }]);
  });

  it('keeps no call waiting for a broker that does not confirm', async () => {
    const confirmed = Promise.withResolvers<void>();
    send = () => confirmed.promise;
    source.revision = 6;
    const announced = owner.announce();
    await pass(500);
    await expect(announced).resolves.toBeUndefined();
    confirmed.resolve();
  });

  it('goes on when the database is back', async () => {
    source.failure = new Error('no database');
    await expect(owner.announce()).resolves.toBeUndefined();
    await pass(1_000);
    source.failure = undefined;
    source.revision = 6;
    await pass(200);
    expect(sent).toMatchObject([{ position: at(6) }]);
  });

  it('says that everything is to be forgotten when the database was restored', async () => {
    source.revision = 2;
    await owner.announce();
    expect(sent).toEqual([{ since: null, position: at(2), subjects: [] }]);
  });

  it('deletes old changes once a minute, a bounded number at a time', async () => {
    await pass(59_000);
    expect(source.pruned).toEqual([]);
    await pass(1_001);
    expect(source.pruned).toEqual([1_000, 1_000, 1_000]);
  });
});

import { Logger } from '@nestjs/common';
import { ReadAccessChanges, type FeedChanges, type FeedPosition, type ReadChangesRequest } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { FakeMessageBus } from '../messaging/testing/fake-message-bus';
import { FeedFollower } from './feed-follower';

const at = (revision: number, mark = `mark-${revision}`): FeedPosition => ({ revision, mark });
const AWAY = new AppError('unavailable', 'The service is temporarily unavailable');

/** The owner of a feed, as it answers questions and publishes events. */
class FakeOwner {
  readonly bus = new FakeMessageBus().answers(ReadAccessChanges, (request) => this.answer(request));
  answer: (request: ReadChangesRequest) => FeedChanges | Promise<FeedChanges> = (request) => this.read(request);
  changes: { readonly position: FeedPosition; readonly subject: string }[] = [];

  get position(): FeedPosition {
    return this.changes.at(-1)?.position ?? at(0);
  }

  get asked(): ReadChangesRequest[] {
    return this.bus.calls.map(({ payload }) => payload as ReadChangesRequest);
  }

  change(subject: string): FeedChanges {
    const since = this.position;
    this.changes.push({ position: at(since.revision + 1), subject });
    return { since, position: this.position, subjects: [subject] };
  }

  read({ revision, mark }: ReadChangesRequest): FeedChanges {
    const index = this.changes.findIndex(({ position }) => position.revision === revision && position.mark === mark);
    const isKnown = index !== -1 || (revision === 0 && mark === at(0).mark);
    if (!isKnown) return { since: null, position: this.position, subjects: [] };
    const subjects = this.changes.slice(index + 1).map(({ subject }) => subject);
    return { since: at(revision!, mark), position: this.position, subjects };
  }
}

describe(FeedFollower.name, () => {
  let owner: FakeOwner;
  let follower: FeedFollower;
  let silences: number;
  let changed: (readonly string[] | null)[];
  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
  const now = (): number => performance.now();

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(async () => {
    jest.useFakeTimers();
    owner = new FakeOwner();
    silences = 0;
    changed = [];
    follower = new FeedFollower('access', owner.bus, { onSilence: () => (silences += 1) });
    follower.start();
    await pass(1);
    follower.onChange((subjects) => changed.push(subjects));
  });

  afterEach(() => {
    follower.stop();
    jest.useRealTimers();
  });

  it('asks five times in two seconds, whatever there is to know', async () => {
    await pass(2_000);
    expect(owner.asked).toHaveLength(6);
    expect(follower.isFresh(now())).toBe(true);
    expect(changed).toEqual([]);
  });

  it('applies an event at once, and goes on from there', async () => {
    follower.hear(owner.change('key'));
    expect(changed).toEqual([['key']]);
    await pass(400);
    expect(owner.asked.at(-1)).toEqual(at(1));
    expect(changed).toEqual([['key']]);
  });

  it('finds what no event announced with its next question, and says that events are missing', async () => {
    owner.change('key');
    await pass(400);
    expect(changed).toEqual([['key']]);
    expect(silences).toBe(0);
    await pass(400);
    expect(silences).toBe(1);
    await pass(2_000);
    expect(silences).toBe(1);
  });

  it('does not take an event for missing that comes shortly after the question that was faster', async () => {
    const event = owner.change('key');
    await follower.catchUp();
    await follower.catchUp();
    await pass(50);
    follower.hear(event);
    await pass(2_000);
    expect(silences).toBe(0);
    expect(changed).toEqual([['key']]);
  });

  it('asks at once when an event shows that one before it was lost', async () => {
    owner.change('lost');
    const event = owner.change('heard');
    follower.hear(event);
    expect(changed).toEqual([['heard']]);
    await pass(60);
    expect(changed).toEqual([['heard'], ['lost', 'heard']]);
    expect(owner.asked.at(-1)).toEqual(at(0));
  });

  it('ignores events that come again or late', async () => {
    const [first, second] = [owner.change('one'), owner.change('two')];
    for (const event of [first, second, first, second]) follower.hear(event);
    expect(changed).toEqual([['one'], ['two']]);
  });

  it('forgets everything once for a change that is too large to be told, however many replicas publish it', async () => {
    const event = { since: null, position: at(5_000), subjects: [] };
    for (let replica = 0; replica < 3; replica += 1) follower.hear(event);
    expect(changed).toEqual([null]);
  });

  it('asks no more often because of gaps than twenty times per second', async () => {
    await pass(1_000);
    const before = owner.asked.length;
    for (let event = 0; event < 1_000; event += 1) {
      owner.change('lost');
      follower.hear(owner.change('heard'));
      await pass(1);
    }
    expect(owner.asked.length - before).toBeLessThan(30);
  });

  it('ages from the moment of the question, not of its answer', async () => {
    await pass(400);
    const late = Promise.withResolvers<FeedChanges>();
    owner.answer = () => late.promise;
    await pass(400);
    const askedAtMs = now();
    await pass(600);
    owner.answer = () => new Promise(() => undefined);
    late.resolve(owner.read(at(0)));
    await pass(0);
    expect(follower.confirmedAtMs).toBeLessThan(askedAtMs + 401);
    await pass(750);
    expect(follower.isFresh(now())).toBe(false);
  });

  it('finds its owner away when a question waits for a second, and back with the first answer', async () => {
    let timesAway = 0;
    follower.onAway(() => (timesAway += 1));
    owner.answer = () => new Promise(() => undefined);
    await pass(1_000);
    expect([follower.isFresh(now()), follower.isAway(now())]).toEqual([false, false]);
    await pass(500);
    expect(follower.isAway(now())).toBe(true);
    expect(timesAway).toBeGreaterThan(0);
    owner.answer = (request) => owner.read(request);
    owner.change('key');
    await pass(400);
    expect([follower.isFresh(now()), follower.isAway(now())]).toEqual([true, false]);
    expect(changed).toEqual([['key']]);
  });

  it('goes on asking an owner that does not answer, a few questions at a time', async () => {
    owner.answer = () => new Promise(() => undefined);
    await pass(60_000);
    expect(owner.asked.length).toBeLessThan(10);
  });

  it('finds its owner away as soon as what it knows is too old, when questions fail at once', async () => {
    owner.bus.failure = AWAY;
    await pass(700);
    expect(follower.isAway(now())).toBe(false);
    await pass(100);
    expect(follower.isAway(now())).toBe(true);
  });

  it('does not take its own sleep for an owner that is away', async () => {
    let isAway = false;
    follower.onAway(() => (isAway = true));
    jest.setSystemTime(Date.now() + 40_000);
    const sleep = jest.spyOn(performance, 'now').mockReturnValue(now() + 40_000);
    try {
      expect([follower.isFresh(performance.now()), follower.isAway(performance.now())]).toEqual([false, false]);
      await Promise.all([follower.settled(), pass(0)]);
      expect(follower.isFresh(performance.now())).toBe(true);
      expect(isAway).toBe(false);
    } finally {
      sleep.mockRestore();
    }
  });

  it('forgets everything when revisions go backwards, and when they are those of another history', async () => {
    for (const subject of ['a', 'b', 'c']) follower.hear(owner.change(subject));
    changed.length = 0;
    owner.changes = owner.changes.slice(0, 1);
    await pass(400);
    expect(changed).toEqual([null]);
    // Restored from a backup and gone on: the same numbers, other changes.
    owner.changes = [{ position: at(1, 'restored'), subject: 'x' }];
    await pass(400);
    expect(changed).toEqual([null, null]);
    follower.hear({ since: at(1, 'restored'), position: at(2), subjects: ['y'] });
    expect(changed.at(-1)).toEqual(['y']);
  });

  it('forgets everything when an event says that too much changed', async () => {
    follower.hear({ since: null, position: at(5_000), subjects: [] });
    expect(changed).toEqual([null]);
  });

  it('knows whether something changed since a question was asked', async () => {
    const before = follower.moment();
    follower.hear(owner.change('key'));
    expect(follower.isUnchangedSince(before, ['other', 'key'])).toBe(false);
    expect(follower.isUnchangedSince(before, ['other'])).toBe(true);
    expect(follower.isUnchangedSince(follower.moment(), ['key'])).toBe(true);
    const later = follower.moment();
    follower.hear({ since: null, position: at(9), subjects: [] });
    expect(follower.isUnchangedSince(later, ['other'])).toBe(false);
  });

  it('catches up with a question of its own, which many share', async () => {
    const before = owner.asked.length;
    const event = owner.change('key');
    await Promise.all(Array.from({ length: 50 }, () => follower.catchUp()));
    expect(changed).toEqual([['key']]);
    expect(owner.asked.length - before).toBe(2);
    follower.hear(event);
    expect(changed).toEqual([['key']]);
  });

  it('catches up without an error while its owner is away', async () => {
    owner.bus.failure = AWAY;
    await expect(follower.catchUp()).resolves.toBeUndefined();
  });
});

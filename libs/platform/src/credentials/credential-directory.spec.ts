import { FindOwnCredentials, type FindOwnCredentialsResponse, type OwnCredentialRecord } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { ManualFeed } from '../feeds/testing/manual-feed';
import { FakeMessageBus } from '../messaging/testing/fake-message-bus';
import { CredentialDirectory } from './credential-directory';

const ORGANIZATION = 'organization';
const WORKSPACE = 'workspace';
const one = { id: '1' } as OwnCredentialRecord;
const two = { id: '2' } as OwnCredentialRecord;

describe(CredentialDirectory.name, () => {
  let nowMs: number;
  let bus: FakeMessageBus;
  let answer: () => FindOwnCredentialsResponse | Promise<FindOwnCredentialsResponse>;
  let directory: CredentialDirectory;
  let feed: ManualFeed;
  const find = () => directory.find(ORGANIZATION, WORKSPACE);

  beforeEach(() => {
    nowMs = 1_000;
    answer = () => ({ credentials: [one], totalCount: 1 });
    bus = new FakeMessageBus().answers(FindOwnCredentials, () => answer());
    feed = new ManualFeed();
    feed.confirm(nowMs);
    directory = new CredentialDirectory(bus, { feed, monotonicNowMs: () => nowMs, maxEntries: 2, maxLookups: 2 });
  });

  it('asks once for all who ask at the same time, and knows the answer at once after that', async () => {
    const [first, second] = [find(), find()];
    expect([await first, await second]).toEqual([[one], [one]]);
    nowMs += 399;
    expect(find()).toEqual([one]);
    expect(bus.calls).toHaveLength(1);
  });

  it('asks no more for a workspace in use, until one of its credentials changes', async () => {
    await find();
    nowMs += 100_000;
    feed.confirm(nowMs);
    feed.change('another workspace');
    expect(find()).toEqual([one]);
    expect(bus.calls).toHaveLength(1);
    answer = () => ({ credentials: [two], totalCount: 1 });
    feed.change(WORKSPACE);
    expect(await find()).toEqual([two]);
  });

  it('says for how long a refused key is still passed over, not for how long it was', async () => {
    const refused = { id: '3', refusedForMs: 60_000, wasRefused: true } as OwnCredentialRecord;
    answer = () => ({ credentials: [one, refused], totalCount: 2 });
    await find();
    nowMs += 20_000;
    feed.confirm(nowMs);
    expect(find()).toEqual([one, { id: '3', refusedForMs: 40_000, wasRefused: true }]);
    nowMs += 40_000;
    feed.confirm(nowMs);
    expect(find()).toEqual([one, { id: '3', wasRefused: true }]);
  });

  it('does not wait for an old question, nor take its late answer for the truth', async () => {
    const slow = Promise.withResolvers<FindOwnCredentialsResponse>();
    answer = () => slow.promise;
    const old = find();
    nowMs += 750;
    answer = () => ({ credentials: [two], totalCount: 1 });
    expect(await find()).toEqual([two]);
    slow.resolve({ credentials: [one], totalCount: 1 });
    await old;
    expect(find()).toEqual([two]);
  });

  it('puts together what came in several messages', async () => {
    bus.answers(FindOwnCredentials, ({ offset }) => ({ credentials: [offset === 0 ? one : two], totalCount: 2 }));
    expect(await find()).toEqual([one, two]);
  });

  it('asks no further when a credential disappears between two messages', async () => {
    bus.answers(FindOwnCredentials, ({ offset }) => ({ credentials: offset === 0 ? [one] : [], totalCount: 2 }));
    expect(await find()).toEqual([one]);
  });

  it('refuses what it knows nothing of while there is no answer', async () => {
    bus.failure = new AppError('timeout', 'The request took too long');
    await expect(find()).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
    bus.failure = undefined;
    expect(await find()).toEqual([one]);
    nowMs += 750;
    feed.lose();
    expect(() => directory.find(ORGANIZATION, 'unknown')).toThrow(expect.objectContaining({ code: 'unavailable' }));
  });

  it('goes on with what it knew while the credentials app is away, without a wait, for five minutes', async () => {
    await find();
    nowMs += 750;
    feed.lose();
    expect(find()).toEqual([one]);
    nowMs += 299_249;
    expect(find()).toEqual([one]);
    nowMs += 1;
    expect(find).toThrow(expect.objectContaining({ code: 'unavailable' }));
    expect(bus.calls).toHaveLength(1);
  });

  it('forgets the workspace asked about longest ago when it knows too many', async () => {
    for (const workspace of ['a', 'b', 'c']) await directory.find(ORGANIZATION, workspace);
    expect(directory.find(ORGANIZATION, 'c')).toEqual([one]);
    expect(directory.find(ORGANIZATION, 'b')).toEqual([one]);
    expect(directory.find(ORGANIZATION, 'a')).toBeInstanceOf(Promise);
  });

  it('refuses as overload what would wait beyond the bound', async () => {
    answer = () => new Promise(() => undefined);
    void directory.find(ORGANIZATION, 'a');
    void directory.find(ORGANIZATION, 'b');
    expect(() => directory.find(ORGANIZATION, 'c')).toThrow(expect.objectContaining({ code: 'unavailable' }));
  });
});

import { FindOwnCredentials, type FindOwnCredentialsResponse, type OwnCredentialRecord } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { FakeMessageBus } from '../messaging/testing/fake-message-bus';
import { CredentialDirectory } from './credential-directory';

const ORGANIZATION = 'organization';
const WORKSPACE = 'workspace';
const one = { id: '1' } as OwnCredentialRecord;
const two = { id: '2' } as OwnCredentialRecord;

/** Lets what hangs on a resolved promise run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe(CredentialDirectory.name, () => {
  let nowMs: number;
  let bus: FakeMessageBus;
  let answer: () => FindOwnCredentialsResponse | Promise<FindOwnCredentialsResponse>;
  let directory: CredentialDirectory;
  const find = () => directory.find(ORGANIZATION, WORKSPACE);

  beforeEach(() => {
    nowMs = 1_000;
    answer = () => ({ credentials: [one], totalCount: 1 });
    bus = new FakeMessageBus().answers(FindOwnCredentials, () => answer());
    directory = new CredentialDirectory(bus, { monotonicNowMs: () => nowMs, maxEntries: 2, maxLookups: 2 });
  });

  it('asks once for all who ask at the same time, and knows the answer at once after that', async () => {
    const [first, second] = [find(), find()];
    expect([await first, await second]).toEqual([[one], [one]]);
    nowMs += 399;
    expect(find()).toEqual([one]);
    expect(bus.calls).toHaveLength(1);
  });

  it('asks anew for a workspace in use before the answer is too old, and keeps nobody waiting', async () => {
    await find();
    answer = () => ({ credentials: [two], totalCount: 1 });
    nowMs += 400;
    for (let time = 0; time < 3; time += 1) expect(find()).toEqual([one]);
    expect(bus.calls).toHaveLength(2);
    await settled();
    nowMs += 399;
    expect(find()).toEqual([two]);
    expect(bus.calls).toHaveLength(2);
  });

  it('lets a change be felt within a second of the question, not of its answer', async () => {
    const slow = Promise.withResolvers<FindOwnCredentialsResponse>();
    answer = () => slow.promise;
    const asked = find();
    nowMs += 700;
    slow.resolve({ credentials: [one], totalCount: 1 });
    await asked;
    nowMs += 50;
    answer = () => ({ credentials: [], totalCount: 0 });
    expect(await find()).toEqual([]);
    expect(bus.calls).toHaveLength(2);
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
    await expect(find()).rejects.toMatchObject({ code: 'provider_overloaded', retryAfterSeconds: 5 });
    bus.failure = undefined;
    expect(await find()).toEqual([one]);
  });

  it('goes on with what it knew while there is no answer, without anybody waiting, for five minutes', async () => {
    await find();
    bus.failure = new AppError('timeout', 'The request took too long');
    nowMs += 1_000;
    expect(await find()).toEqual([one]);
    nowMs += 298_000;
    expect(find()).toEqual([one]);
    nowMs += 1_000;
    await expect(find()).rejects.toMatchObject({ code: 'provider_overloaded' });
  });

  it('takes up the truth again as soon as there is an answer', async () => {
    await find();
    bus.failure = new AppError('timeout', 'The request took too long');
    nowMs += 1_000;
    await find();
    bus.failure = undefined;
    answer = () => ({ credentials: [two], totalCount: 1 });
    expect(find()).toEqual([one]);
    await new Promise(setImmediate);
    expect(await find()).toEqual([two]);
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
    await expect(directory.find(ORGANIZATION, 'c')).rejects.toMatchObject({ code: 'provider_overloaded' });
  });
});

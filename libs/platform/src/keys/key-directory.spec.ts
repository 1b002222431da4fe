import type { CallContract, Principal, VerifyKeyResponse } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { MessageBus } from '../messaging/message-bus';
import { ManualFeed } from '../feeds/testing/manual-feed';
import { aPrincipal } from '../testing/principal-fixture';
import { KeyDirectory, type KeyDirectoryOptions } from './key-directory';

const HASH = 'a'.repeat(64);
const AWAY = new AppError('timeout', 'The request took too long');

/** Answers when the test says so. */
class ManualBus extends MessageBus {
  readonly asked: { keyHash: string; answer: PromiseWithResolvers<VerifyKeyResponse> }[] = [];

  override call<Q extends object, R extends object>(_contract: CallContract<Q, R>, request: Q): Promise<R> {
    const answer = Promise.withResolvers<VerifyKeyResponse>();
    this.asked.push({ ...(request as { keyHash: string }), answer });
    return answer.promise as unknown as Promise<R>;
  }

  override send(): Promise<void> {
    throw new Error('nothing is sent');
  }

  async answer(index: number, principal: Principal | null): Promise<void> {
    this.asked[index]?.answer.resolve({ principal });
    await settled();
  }

  async fail(index: number, error: Error = AWAY): Promise<void> {
    this.asked[index]?.answer.reject(error);
    await settled();
  }
}

/** Lets what hangs on a resolved promise run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function principal(keyHash = HASH, expiresAt: string | null = null): Principal {
  return aPrincipal({ keyHash, organizationId: 'o', workspaceId: 'w', expiresAt });
}

describe(KeyDirectory.name, () => {
  let nowMs: number;
  let bus: ManualBus;
  let feed: ManualFeed;

  beforeEach(() => {
    nowMs = 1_000_000;
    bus = new ManualBus();
    feed = new ManualFeed();
    feed.confirm(nowMs);
  });

  function directory(options: Partial<KeyDirectoryOptions> = {}): KeyDirectory {
    return new KeyDirectory(bus, { feed, monotonicNowMs: () => nowMs, wallNowMs: () => nowMs, ...options });
  }

  /** One whose first question, about the key, has been answered. */
  async function directoryThatKnows(options: Partial<KeyDirectoryOptions> = {}): Promise<KeyDirectory> {
    const keys = directory(options);
    void keys.find(HASH);
    await bus.answer(0, principal());
    return keys;
  }

  /** The owner cannot be asked, and what was known is too old to be used without it. */
  function lose(): void {
    nowMs += 750;
    feed.lose();
  }

  const refused = expect.objectContaining({ code: 'unavailable', status: 503, retryAfterSeconds: 1 });

  it('asks once for a key that many requests bring at the same time', async () => {
    const keys = directory();
    const answers = Promise.all([keys.find(HASH), keys.find(HASH), keys.find(HASH)]);
    expect(bus.asked).toHaveLength(1);
    await bus.answer(0, principal());
    expect(await answers).toEqual([principal(), principal(), principal()]);
  });

  it('asks no more for a key in use, for as long as the feed confirms it', async () => {
    const keys = await directoryThatKnows();
    for (let second = 0; second < 1_000; second += 1) {
      nowMs += 749;
      expect(keys.find(HASH)).toEqual(principal());
      feed.confirm(nowMs);
    }
    expect(bus.asked).toHaveLength(1);
  });

  it.each([
    ['the key', HASH],
    ['its workspace', 'w'],
  ])('asks again when %s changed', async (_what, subject) => {
    const keys = await directoryThatKnows();
    feed.change('another');
    expect(keys.find(HASH)).toEqual(principal());
    feed.change(subject);
    const again = keys.find(HASH);
    await bus.answer(1, null);
    expect(await again).toBeNull();
  });

  it('asks again for every secret of a key that changed, and for the key itself', async () => {
    const keys = directory();
    const [old, next] = ['0'.repeat(64), '1'.repeat(64)];
    void keys.find(old);
    void keys.find(next);
    void keys.findRecord(HASH);
    for (let index = 0; index < 3; index += 1) await bus.answer(index, principal());
    expect([keys.find(old), keys.find(next), keys.findRecord(HASH)]).toEqual([principal(), principal(), principal()]);
    feed.change(HASH);
    for (const again of [keys.find(old), keys.find(next), keys.findRecord(HASH)]) expect(again).toBeInstanceOf(Promise);
  });

  it('does not take the name of a key for its secret', async () => {
    const keys = directory();
    void keys.findRecord(HASH);
    await bus.answer(0, principal());
    const bySecret = keys.find(HASH);
    expect(bus.asked).toMatchObject([
      { keyHash: HASH, by: 'record' },
      { keyHash: HASH, by: 'secret' },
    ]);
    await bus.answer(1, null);
    expect(await bySecret).toBeNull();
    expect(keys.findRecord(HASH)).toEqual(principal());
  });

  it('notes each use of a key, and none of what is no key', async () => {
    const uses: string[] = [];
    const keys = await directoryThatKnows({ onUse: ({ keyHash }) => void uses.push(keyHash) });
    expect(uses).toEqual([HASH]);
    void keys.find(HASH);
    void keys.find('0'.repeat(64));
    await bus.answer(1, null);
    expect(uses).toEqual([HASH, HASH]);
  });

  it('forgets everything when anything may have changed', async () => {
    const keys = await directoryThatKnows();
    feed.forgetAll();
    expect(keys.find(HASH)).toBeInstanceOf(Promise);
  });

  it.each([[[HASH]], [['w']], [null]])('keeps no answer that crossed a change of %j', async (subjects) => {
    const keys = directory();
    const first = keys.find(HASH);
    if (subjects === null) feed.forgetAll();
    else feed.change(...subjects);
    await bus.answer(0, principal());
    expect(await first).toEqual(principal());
    expect(keys.find(HASH)).toBeInstanceOf(Promise);
    expect(bus.asked).toHaveLength(2);
  });

  it('joins no question that was asked before a change', async () => {
    const keys = directory();
    void keys.find(HASH);
    feed.change('w');
    const second = keys.find(HASH);
    expect(bus.asked).toHaveLength(2);
    await bus.answer(1, { ...principal(), name: 'newer' });
    await bus.answer(0, principal());
    expect(await second).toMatchObject({ name: 'newer' });
    expect(keys.find(HASH)).toMatchObject({ name: 'newer' });
  });

  it('waits for the feed when it was not confirmed in time, and asks nothing else', async () => {
    const keys = await directoryThatKnows();
    nowMs += 750;
    const late = keys.find(HASH);
    expect(late).toBeInstanceOf(Promise);
    feed.confirm(nowMs);
    expect(await late).toEqual(principal());
    expect(bus.asked).toHaveLength(1);
  });

  it('refuses a key that the feed says is gone while a call waits for it', async () => {
    const keys = await directoryThatKnows();
    nowMs += 750;
    const late = keys.find(HASH);
    feed.change(HASH);
    feed.confirm(nowMs);
    await settled();
    await bus.answer(1, null);
    expect(await late).toBeNull();
  });

  it('asks for the key itself when the feed stays late', async () => {
    const keys = await directoryThatKnows();
    nowMs += 750;
    const late = keys.find(HASH);
    for (let looks = 1; looks <= 5; looks += 1) {
      expect(bus.asked).toHaveLength(1);
      feed.confirm(nowMs - 750);
      await settled();
    }
    expect(bus.asked).toHaveLength(2);
    await bus.answer(1, principal());
    expect(await late).toEqual(principal());
  });

  it('uses an answer for as long as its own question is young, without a feed', async () => {
    const keys = new KeyDirectory(bus, { monotonicNowMs: () => nowMs, wallNowMs: () => nowMs });
    void keys.find(HASH);
    nowMs += 400;
    await bus.answer(0, principal());
    nowMs += 349;
    expect(keys.find(HASH)).toEqual(principal());
    nowMs += 1;
    const again = keys.find(HASH);
    await settled();
    await bus.answer(1, null);
    expect(await again).toBeNull();
  });

  it('joins no question that is older than the feed would let an answer be', async () => {
    const keys = directory();
    const first = keys.find(HASH);
    nowMs += 750;
    const second = keys.find(HASH);
    expect(bus.asked).toHaveLength(2);
    await bus.answer(1, null);
    await bus.answer(0, principal());
    expect([await first, await second]).toEqual([principal(), null]);
  });

  it('does not let a late older answer replace a newer one', async () => {
    const keys = directory();
    void keys.find(HASH);
    nowMs += 750;
    void keys.find(HASH);
    await bus.answer(1, { ...principal(), name: 'newer' });
    await bus.answer(0, { ...principal(), name: 'older' });
    expect(keys.find(HASH)).toMatchObject({ name: 'newer' });
  });

  it('does not remember what is no key', async () => {
    const keys = directory();
    void keys.find(HASH);
    await bus.answer(0, null);
    void keys.find(HASH);
    expect(bus.asked).toHaveLength(2);
  });

  it('asks again for a key that expired since the answer', async () => {
    const keys = directory();
    void keys.find(HASH);
    await bus.answer(0, principal(HASH, new Date(nowMs + 300).toISOString()));
    nowMs += 299;
    expect(keys.find(HASH)).toMatchObject({ keyHash: HASH });
    nowMs += 1;
    void keys.find(HASH);
    expect(bus.asked).toHaveLength(2);
  });

  it('asks again within the hour, beside the work of the caller, should a change ever be lost', async () => {
    const keys = await directoryThatKnows();
    nowMs += 3_600_000;
    feed.confirm(nowMs);
    for (let time = 0; time < 3; time += 1) expect(keys.find(HASH)).toEqual(principal());
    expect(bus.asked).toHaveLength(2);
    await bus.answer(1, { ...principal(), name: 'newer' });
    expect(keys.find(HASH)).toMatchObject({ name: 'newer' });
  });

  it('goes on with a key that could not be asked for again, and asks with the next use', async () => {
    const keys = await directoryThatKnows();
    nowMs += 3_600_000;
    feed.confirm(nowMs);
    expect(keys.find(HASH)).toEqual(principal());
    await bus.fail(1);
    expect(keys.find(HASH)).toEqual(principal());
    expect(bus.asked).toHaveLength(3);
  });

  it('drops the key that was used longest ago when it is full', async () => {
    const keys = directory({ maxEntries: 2 });
    for (const [index, hash] of ['1', '2'].entries()) {
      void keys.find(hash);
      await bus.answer(index, principal(hash));
    }
    nowMs += 10_000;
    feed.confirm(nowMs);
    expect(keys.find('1')).toMatchObject({ keyHash: '1' });
    void keys.find('3');
    await bus.answer(2, principal('3'));
    expect(keys.find('1')).toMatchObject({ keyHash: '1' });
    expect(keys.find('3')).toMatchObject({ keyHash: '3' });
    expect(keys.find('2')).toBeInstanceOf(Promise);
  });

  it('refuses all who wait when there is no answer, and asks anew after it', async () => {
    const keys = directory();
    const waiting = Promise.allSettled([keys.find(HASH), keys.find(HASH)]);
    await bus.fail(0);
    for (const end of await waiting) expect(end).toEqual({ status: 'rejected', reason: refused });
    void keys.find(HASH);
    expect(bus.asked).toHaveLength(2);
  });

  it('passes on what the auth app says is wrong with the question', async () => {
    const keys = directory();
    const found = Promise.resolve(keys.find(HASH));
    bus.asked[0]?.answer.reject(new AppError('invalid_request', 'no hash'));
    await expect(found).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('refuses what would wait beyond the bound, and recovers', async () => {
    const keys = directory({ maxLookups: 1 });
    void keys.find('1');
    expect(() => keys.find('2')).toThrow(refused);
    await bus.answer(0, null);
    expect(keys.find('2')).toBeInstanceOf(Promise);
  });

  describe('while the auth app cannot be asked', () => {
    it('goes on with confirmed keys for the time of the grace, counted from the last confirmation', async () => {
      const keys = await directoryThatKnows({ graceMs: 60_000 });
      nowMs += 100_000;
      feed.confirm(nowMs);
      lose();
      expect(keys.find(HASH)).toEqual(principal());
      nowMs += 59_249;
      expect(keys.find(HASH)).toEqual(principal());
      nowMs += 1;
      expect(() => keys.find(HASH)).toThrow(refused);
      expect(bus.asked).toHaveLength(1);
    });

    it('refuses every key at once without a grace', async () => {
      const keys = await directoryThatKnows({ graceMs: 0 });
      lose();
      expect(() => keys.find(HASH)).toThrow(refused);
    });

    it('refuses unknown keys at once, and asks nothing', () => {
      const keys = directory({ graceMs: 60_000 });
      lose();
      expect(() => keys.find(HASH)).toThrow(refused);
      expect(bus.asked).toHaveLength(0);
    });

    it('ends the wait of those who asked before, and serves those whose key is known', async () => {
      const keys = await directoryThatKnows({ graceMs: 60_000 });
      const stranger = Promise.resolve(keys.find('unknown'));
      nowMs += 750;
      const known = keys.find(HASH);
      feed.lose();
      await expect(stranger).rejects.toEqual(refused);
      expect(await known).toEqual(principal());
    });

    it('lets a key expire, which needs no answer', async () => {
      const keys = directory({ graceMs: 60_000 });
      void keys.find(HASH);
      await bus.answer(0, principal(HASH, new Date(nowMs + 5_000).toISOString()));
      lose();
      expect(keys.find(HASH)).toMatchObject({ keyHash: HASH });
      nowMs += 5_000;
      expect(await keys.find(HASH)).toBeNull();
    });

    it('is strict again as soon as it can be asked', async () => {
      const keys = await directoryThatKnows({ graceMs: 60_000 });
      lose();
      expect(keys.find(HASH)).toEqual(principal());
      feed.change(HASH);
      feed.confirm(nowMs);
      const again = keys.find(HASH);
      await bus.answer(1, null);
      expect(await again).toBeNull();
    });
  });
});

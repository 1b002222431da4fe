import type { CallContract, Principal, VerifyKeyResponse } from '@libs/contracts';
import { MessageBus } from '../messaging/message-bus';
import { KeyDirectory, type KeyDirectoryOptions } from './key-directory';

const HASH = 'a'.repeat(64);

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
}

/** Lets what hangs on a resolved promise run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function principal(keyHash = HASH, expiresAt: string | null = null): Principal {
  return {
    keyHash,
    keyId: 'id',
    kind: 'api',
    organizationId: 'o',
    workspaceId: 'w',
    name: 'n',
    limitUsd: null,
    limitReset: null,
    includeByokInLimit: false,
    expiresAt,
  };
}

describe(KeyDirectory.name, () => {
  let nowMs: number;
  let bus: ManualBus;

  beforeEach(() => {
    nowMs = 1_000_000;
    bus = new ManualBus();
  });

  function directory(options: Partial<KeyDirectoryOptions> = {}): KeyDirectory {
    return new KeyDirectory(bus, {
      freshForMs: 1_000,
      renewAfterMs: 1_000,
      monotonicNowMs: () => nowMs,
      wallNowMs: () => nowMs,
      ...options,
    });
  }

  /** One whose first question, about the key, has been answered. */
  async function directoryThatKnows(options: Partial<KeyDirectoryOptions> = {}): Promise<KeyDirectory> {
    const keys = directory(options);
    void keys.find(HASH);
    await bus.answer(0, principal());
    return keys;
  }

  it('asks once for a key that many requests bring at the same time', async () => {
    const keys = directory();
    const answers = Promise.all([keys.find(HASH), keys.find(HASH), keys.find(HASH)]);
    expect(bus.asked).toHaveLength(1);
    await bus.answer(0, principal());
    expect(await answers).toEqual([principal(), principal(), principal()]);
  });

  it('answers at once from memory while the answer is fresh', async () => {
    const keys = await directoryThatKnows();
    nowMs += 999;
    expect(keys.find(HASH)).toEqual(principal());
    expect(bus.asked).toHaveLength(1);
  });

  it('asks anew for a key in use before the answer is too old, and keeps nobody waiting', async () => {
    const keys = await directoryThatKnows({ renewAfterMs: 500 });
    nowMs += 499;
    expect(keys.find(HASH)).toEqual(principal());
    expect(bus.asked).toHaveLength(1);
    nowMs += 1;
    for (let time = 0; time < 3; time += 1) expect(keys.find(HASH)).toEqual(principal());
    expect(bus.asked).toHaveLength(2);
    await bus.answer(1, { ...principal(), name: 'newer' });
    nowMs += 499;
    expect(keys.find(HASH)).toMatchObject({ name: 'newer' });
    nowMs += 499;
    expect(keys.find(HASH)).toMatchObject({ name: 'newer' });
    nowMs += 2;
    expect(keys.find(HASH)).toBeInstanceOf(Promise);
  });

  it('refuses a key that turns out to be revoked when it is asked for anew', async () => {
    const keys = await directoryThatKnows({ renewAfterMs: 500 });
    nowMs += 500;
    expect(keys.find(HASH)).toEqual(principal());
    await bus.answer(1, null);
    const again = keys.find(HASH);
    await bus.answer(2, null);
    expect(await again).toBeNull();
  });

  it('goes on with an answer that could not be asked for anew until it is too old, and tells nobody before', async () => {
    const keys = await directoryThatKnows({ renewAfterMs: 500 });
    nowMs += 500;
    expect(keys.find(HASH)).toEqual(principal());
    bus.asked[1]?.answer.reject(new Error('auth is away'));
    await settled();
    nowMs += 499;
    expect(keys.find(HASH)).toEqual(principal());
    nowMs += 1;
    const late = Promise.resolve(keys.find(HASH));
    bus.asked[2]?.answer.reject(new Error('auth is away'));
    await expect(late).rejects.toThrow('auth is away');
  });

  it('lets an answer age from the question, so that a revoked key is refused within a second', async () => {
    const keys = directory();
    void keys.find(HASH);
    nowMs += 600;
    await bus.answer(0, principal());
    nowMs += 400;
    const again = keys.find(HASH);
    expect(bus.asked).toHaveLength(2);
    await bus.answer(1, null);
    expect(await again).toBeNull();
  });

  it('joins no question that is older than a second', async () => {
    const keys = directory();
    const first = keys.find(HASH);
    nowMs += 1_000;
    const second = keys.find(HASH);
    expect(bus.asked).toHaveLength(2);
    await bus.answer(1, null);
    await bus.answer(0, principal());
    expect([await first, await second]).toEqual([principal(), null]);
  });

  it('does not let a late older answer replace a newer one', async () => {
    const keys = directory();
    void keys.find(HASH);
    nowMs += 1_000;
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

  it('drops the key that was asked about longest ago when it is full', async () => {
    const keys = directory({ maxEntries: 2 });
    for (const [index, hash] of ['1', '2'].entries()) {
      void keys.find(hash);
      await bus.answer(index, principal(hash));
    }
    void keys.find('3');
    await bus.answer(2, principal('3'));
    expect(keys.find('2')).toMatchObject({ keyHash: '2' });
    expect(keys.find('3')).toMatchObject({ keyHash: '3' });
    expect(keys.find('1')).toBeInstanceOf(Promise);
  });

  it('passes a failure on to all who wait, and asks anew after it', async () => {
    const keys = directory();
    const waiting = Promise.allSettled([keys.find(HASH), keys.find(HASH)]);
    bus.asked[0]?.answer.reject(new Error('auth is away'));
    expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    void keys.find(HASH);
    expect(bus.asked).toHaveLength(2);
  });

  it('refuses as overload what would wait beyond the bound, and recovers', async () => {
    const keys = directory({ maxLookups: 1 });
    void keys.find('1');
    expect(() => keys.find('2')).toThrow(
      expect.objectContaining({ code: 'provider_overloaded', retryAfterSeconds: 1 }),
    );
    await bus.answer(0, null);
    expect(keys.find('2')).toBeInstanceOf(Promise);
  });
});

import { Logger } from '@nestjs/common';
import { hashApiKey, ReadAccessChanges, VerifyKey, type Principal } from '@libs/contracts';
import { KeyDirectory } from '../keys/key-directory';
import { FakeMessageBus } from '../messaging/testing/fake-message-bus';
import { aPrincipal } from '../testing/principal-fixture';
import { FeedCache } from './feed-cache';
import { FeedFollower } from './feed-follower';

const KEYS = Array.from({ length: 50 }, (_, index) => hashApiKey(`key ${index}`));
const [REVOKED = ''] = KEYS;
const BEFORE = { revision: 1, mark: 'before' };
const AFTER = { revision: 2, mark: 'after' };

const principalOf = (keyHash: string): Principal => aPrincipal({ keyHash });

describe(FeedCache.name, () => {
  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('lets one question confirm all keys while answers take longer than what is known is fresh', async () => {
    let latencyMs = 5;
    let isRevoked = false;
    let questions = 0;
    const late = async <T>(value: () => T): Promise<T> => {
      const read = value();
      await new Promise((resolve) => setTimeout(resolve, latencyMs));
      return read;
    };
    const bus = new FakeMessageBus()
      .answers(ReadAccessChanges, ({ revision }) =>
        late(() => {
          const position = isRevoked ? AFTER : BEFORE;
          if (revision === undefined) return { since: null, position, subjects: [] };
          const since = revision === 1 ? BEFORE : AFTER;
          return { since, position, subjects: since === position ? [] : [REVOKED] };
        }),
      )
      .answers(VerifyKey, ({ keyHash }) => {
        questions += 1;
        return late(() => ({ principal: isRevoked && keyHash === REVOKED ? null : principalOf(keyHash) }));
      });
    const feed = new FeedFollower('access', bus);
    const directory = new KeyDirectory(bus, { feed, graceMs: 60_000 });
    feed.start();
    await jest.advanceTimersByTimeAsync(100);
    const useAll = (): Promise<(Principal | null)[]> => Promise.all(KEYS.map(async (key) => directory.find(key)));
    const used = async (): Promise<(Principal | null)[]> => {
      const all = useAll();
      await jest.advanceTimersByTimeAsync(2_500);
      return all;
    };
    expect(await used()).not.toContain(null);
    expect(questions).toBe(KEYS.length);
    latencyMs = 900;
    for (let round = 0; round < 5; round += 1) expect(await used()).not.toContain(null);
    expect(questions).toBe(KEYS.length);
    isRevoked = true;
    expect((await used()).filter((principal) => principal === null)).toHaveLength(1);
    expect(questions).toBe(KEYS.length + 1);
    feed.stop();
  });
});

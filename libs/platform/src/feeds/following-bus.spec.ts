import { call, queues, ReadAccessChanges, type FeedName } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { FakeMessageBus } from '../messaging/testing/fake-message-bus';
import type { FeedFollower } from './feed-follower';
import { FollowingBus } from './following-bus';

class Nothing {}

const common = {
  queue: queues.auth,
  timeoutMs: 1_000,
  askedBy: ['gateway'],
  repeat: 'harmless',
  request: Nothing,
  response: Nothing,
} as const;
const ask = call({ ...common, name: 'auth.ask' });
const change = call({ ...common, name: 'auth.change', changes: 'access' });
const elsewhere = call({ ...common, name: 'auth.change-elsewhere', changes: 'credentials' });

describe(FollowingBus.name, () => {
  let order: string[];
  let plain: FakeMessageBus;
  let bus: FollowingBus;
  let isAway: boolean;

  beforeEach(() => {
    order = [];
    isAway = false;
    const answer = (name: string) => (): Nothing => {
      order.push(name);
      return {};
    };
    plain = new FakeMessageBus()
      .answers(ask, answer('asked'))
      .answers(change, answer('changed'))
      .answers(elsewhere, answer('changed elsewhere'))
      .answers(ReadAccessChanges, () => ({ since: null, position: { revision: 1, mark: '' }, subjects: [] }));
    const follower = {
      isAway: () => isAway,
      catchUp: async () => {
        await new Promise(setImmediate);
        order.push('caught up');
      },
    } as unknown as FeedFollower;
    bus = new FollowingBus(plain, { find: (name: FeedName) => (name === 'access' ? follower : undefined) });
  });

  it('knows of a change before the caller that made it', async () => {
    await bus.call(change, {});
    expect(order).toEqual(['changed', 'caught up']);
  });

  it('knows of a change whose answer is an error', async () => {
    plain.answers(change, () => {
      order.push('replayed');
      throw new AppError('permission_denied', 'The code was used');
    });
    await expect(bus.call(change, {})).rejects.toMatchObject({ code: 'permission_denied' });
    expect(order).toEqual(['replayed', 'caught up']);
  });

  it('asks nothing for calls that change nothing that this process follows', async () => {
    await bus.call(ask, {});
    await bus.call(elsewhere, {});
    expect(order).toEqual(['asked', 'changed elsewhere']);
  });

  it('asks nothing of an app that is away', async () => {
    isAway = true;
    const away = { code: 'unavailable', retryAfterSeconds: 2 };
    for (const contract of [ask, change]) await expect(bus.call(contract, {})).rejects.toMatchObject(away);
    expect(order).toEqual([]);
    isAway = false;
    await bus.call(ask, {});
    expect(order).toEqual(['asked']);
  });
});

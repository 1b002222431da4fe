import { Logger } from '@nestjs/common';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { ClaimedWebhook, WebhookDeliveriesRepository } from '@libs/persistence';
import type { AttemptOutcome } from './attempt-outcome';
import { DeliveryLaneService } from './delivery-lane.service';
import type { SigningSecrets } from './signing-secrets';
import type { WebhookSender } from './webhook-sender';

const SECRET = new Secret('whsec_AAAA');

function aWebhook(id: string, attempts = 1): ClaimedWebhook {
  const owner = { organizationId: 'organization', workspaceId: 'workspace' };
  return {
    ...owner,
    id,
    fence: 1n,
    url: 'https://r.example/',
    type: 't',
    payload: '{}',
    createdAt: new Date(),
    attempts,
  };
}

/** The table: hands out what waits and remembers what was noted. */
class FakeDeliveries {
  waiting: ClaimedWebhook[] = [];
  readonly notes: unknown[][] = [];
  claims = 0;
  isAway = false;

  async claim({ limit }: { limit: number }): Promise<ClaimedWebhook[]> {
    this.claims += 1;
    if (this.isAway) throw new Error('away');
    return this.waiting.splice(0, limit);
  }

  async markDelivered({ id }: ClaimedWebhook, status: number): Promise<boolean> {
    return this.note('delivered', id, status);
  }

  async giveUp({ id }: ClaimedWebhook, result: object): Promise<boolean> {
    return this.note('given up', id, result);
  }

  async postpone({ id }: ClaimedWebhook, result: object, delayMs: number): Promise<boolean> {
    return this.note('postponed', id, result, delayMs);
  }

  async release({ id }: ClaimedWebhook, delayMs: number): Promise<void> {
    this.note('released', id, delayMs);
  }

  private note(...what: unknown[]): boolean {
    this.notes.push(what);
    return true;
  }
}

describe(DeliveryLaneService.name, () => {
  let deliveries: FakeDeliveries;
  let sent: { id: string; secrets: readonly Secret[] }[];
  let answer: (webhook: ClaimedWebhook, signal: AbortSignal) => Promise<AttemptOutcome>;
  let secretsOf: () => Promise<readonly Secret[]>;
  let lane: DeliveryLaneService;

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    deliveries = new FakeDeliveries();
    sent = [];
    answer = async () => ({ kind: 'delivered', status: 200 });
    secretsOf = async () => [SECRET];
    const sender = {
      send: (webhook: ClaimedWebhook, secrets: readonly Secret[], signal: AbortSignal) => {
        sent.push({ id: webhook.id, secrets });
        return answer(webhook, signal);
      },
    };
    lane = new DeliveryLaneService(
      deliveries as unknown as WebhookDeliveriesRepository,
      { of: () => secretsOf() } as unknown as SigningSecrets,
      sender as unknown as WebhookSender,
    );
  });

  /** Sends everything that waits. */
  async function sendAll(...webhooks: ClaimedWebhook[]): Promise<void> {
    deliveries.waiting = webhooks;
    lane.wake();
    await lane.drain();
  }

  it('notes a delivery', async () => {
    await sendAll(aWebhook('one'));
    expect(sent).toEqual([{ id: 'one', secrets: [SECRET] }]);
    expect(deliveries.notes).toEqual([['delivered', 'one', 200]]);
  });

  it('tries again later what failed, with what went wrong', async () => {
    answer = async () => ({
      kind: 'failed',
      status: 503,
      error: 'the receiver answered with 503',
      retryAfterMs: 60_000,
    });
    await sendAll(aWebhook('one'));
    const result = { status: 503, error: 'the receiver answered with 503' };
    expect(deliveries.notes).toEqual([['postponed', 'one', result, expect.any(Number)]]);
    expect(deliveries.notes[0]![3]).toBeGreaterThanOrEqual(60_000);
    expect(deliveries.notes[0]![3]).toBeLessThanOrEqual(72_000);
  });

  it('gives up after the tenth attempt', async () => {
    answer = async () => ({ kind: 'failed', status: null, error: 'away', retryAfterMs: null });
    await sendAll(aWebhook('ninth', 9), aWebhook('tenth', 10));
    expect(deliveries.notes).toContainEqual(['given up', 'tenth', { status: null, error: 'away' }]);
    expect(deliveries.notes).toContainEqual(['postponed', 'ninth', expect.anything(), expect.any(Number)]);
  });

  it('gives up at once what cannot end otherwise', async () => {
    answer = async () => ({ kind: 'final', status: 410, error: 'the receiver answered with 410' });
    await sendAll(aWebhook('one'));
    expect(deliveries.notes).toEqual([['given up', 'one', { status: 410, error: 'the receiver answered with 410' }]]);
  });

  it('does not send again what killed its workers ten times', async () => {
    await sendAll(aWebhook('one', 11));
    expect(sent).toEqual([]);
    expect(deliveries.notes).toMatchObject([['given up', 'one', { status: null }]]);
  });

  it('sends nothing unsigned while the secret cannot be had, and does not count that as an attempt', async () => {
    secretsOf = () => Promise.reject(new AppError('timeout', 'no answer'));
    await sendAll(aWebhook('one'));
    expect(sent).toEqual([]);
    expect(deliveries.notes).toEqual([['released', 'one', 5_000]]);
  });

  it('has no more under way than its slots and fills each that becomes free', async () => {
    const ends: (() => void)[] = [];
    answer = () =>
      new Promise((resolve) => {
        ends.push(() => resolve({ kind: 'delivered', status: 200 }));
      });
    deliveries.waiting = Array.from({ length: 70 }, (_, index) => aWebhook(`event-${index}`));
    lane.wake();
    await soon(() => ends.length === 64);
    lane.wake();
    ends[0]!();
    await soon(() => ends.length === 65);
    expect(deliveries.waiting).toHaveLength(5);
    for (let index = 1; index < ends.length; index += 1) ends[index]!();
    await soon(() => ends.length === 70);
    for (const end of ends) end();
    await lane.drain();
    expect(deliveries.notes).toHaveLength(70);
  });

  it('goes on when the database is away for a moment', async () => {
    deliveries.isAway = true;
    lane.wake();
    await soon(() => deliveries.claims === 1);
    deliveries.isAway = false;
    deliveries.waiting = [aWebhook('one')];
    await soon(() => {
      lane.wake();
      return deliveries.notes.length > 0;
    });
    expect(deliveries.notes).toEqual([['delivered', 'one', 200]]);
  });

  it('begins nothing once it is told to stop, and gives back what does not end in time', async () => {
    jest.useFakeTimers();
    try {
      answer = (_webhook, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('called off')));
        });
      deliveries.waiting = [aWebhook('slow')];
      lane.wake();
      const drained = lane.drain();
      lane.wake();
      await jest.advanceTimersByTimeAsync(18_000);
      await drained;
      expect(deliveries.notes).toEqual([['released', 'slow', 0]]);
      expect(deliveries.claims).toBe(1);
    } finally {
      jest.useRealTimers();
    }
  });
});

async function soon(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries += 1) {
    if (tries > 1_000) throw new Error('it does not come to that');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

import { Logger } from '@nestjs/common';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { AttemptResult, ClaimedWebhook, WebhookDeliveriesRepository } from '@libs/persistence';
import type { AttemptOutcome } from './attempt-outcome';
import { DeliveryLaneService } from './delivery-lane.service';
import { ReceiverBreakers } from './receiver-breakers';
import type { SigningSecrets } from './signing-secrets';
import type { WebhookSender } from './webhook-sender';

const SECRET = new Secret('whsec_AAAA');

function aWebhook(id: string, attempts = 1, more: Partial<ClaimedWebhook> = {}): ClaimedWebhook {
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
    deaths: 0,
    isByHand: false,
    owedForMs: 0,
    ...more,
  };
}

/** The table: hands out what waits and remembers what was noted. */
class FakeDeliveries {
  waiting: ClaimedWebhook[] = [];
  readonly notes: unknown[][] = [];
  claims = 0;
  isAway = false;
  refuses: (result: AttemptResult) => boolean = () => false;

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

  async postpone({ id }: ClaimedWebhook, result: AttemptResult, delayMs: number): Promise<boolean> {
    if (this.refuses(result)) throw Object.assign(new Error('invalid byte sequence'), { code: '22021' });
    return this.note('postponed', id, result, delayMs);
  }

  async release({ id }: ClaimedWebhook, delayMs: number): Promise<void> {
    this.note('released', id, delayMs);
  }

  async holdBack({ id }: ClaimedWebhook, { delayMs }: { delayMs: number }): Promise<number> {
    this.note('held back', id, delayMs);
    return 1;
  }

  async giveUpUntried({ id }: ClaimedWebhook, error: string): Promise<boolean> {
    return this.note('given up untried', id, error);
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
  let nowMs: number;

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    deliveries = new FakeDeliveries();
    sent = [];
    nowMs = 0;
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
      new ReceiverBreakers(
        () => nowMs,
        () => 0,
      ),
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

  it('sends what lost twenty-nine workers in a row, and no more what lost thirty', async () => {
    await sendAll(aWebhook('lucky', 1, { deaths: 29 }), aWebhook('deadly', 1, { deaths: 30 }));
    expect(sent).toMatchObject([{ id: 'lucky' }]);
    expect(deliveries.notes).toContainEqual(['given up untried', 'deadly', expect.any(String)]);
  });

  it('sends nothing unsigned while the secret cannot be had, and does not count that as an attempt', async () => {
    secretsOf = () => Promise.reject(new AppError('timeout', 'no answer'));
    await sendAll(aWebhook('one'));
    expect(sent).toEqual([]);
    expect(deliveries.notes).toEqual([['released', 'one', 5_000]]);
  });

  describe('at a receiver that has failed five times in a row', () => {
    const SERVER_ERROR: AttemptOutcome = { kind: 'failed', status: 500, error: 'it failed', retryAfterMs: null };
    const PAUSE_MS = 30_000;
    const notesOf = (id: string) => deliveries.notes.filter((note) => note[1] === id);

    /** What waits is claimed and worked off; unlike `sendAll`, the lane goes on. */
    async function work(...webhooks: ClaimedWebhook[]): Promise<void> {
      deliveries.waiting.push(...webhooks);
      lane.wake();
      await soon(() => webhooks.every(({ id }) => notesOf(id).length > 0));
    }

    beforeEach(async () => {
      answer = async () => SERVER_ERROR;
      await work(...Array.from({ length: 5 }, (_, index) => aWebhook(`failure-${index}`)));
      sent.length = 0;
    });

    it('puts off what is due, which costs no attempt, and serves another URL', async () => {
      answer = async () => ({ kind: 'delivered', status: 204 });
      await work(aWebhook('one'), aWebhook('two', 1, { url: 'https://r.example/other' }));
      expect(notesOf('one')).toEqual([['held back', 'one', PAUSE_MS]]);
      expect(notesOf('two')).toEqual([['delivered', 'two', 204]]);
      expect(sent.map(({ id }) => id)).toEqual(['two']);
    });

    it('sends one event as a probe when the pause is over, and all of them once that was taken', async () => {
      nowMs = PAUSE_MS;
      let probeEnds = (_outcome: AttemptOutcome): void => undefined;
      answer = () => new Promise((resolve) => (probeEnds = resolve));
      deliveries.waiting.push(aWebhook('probe'));
      lane.wake();
      await soon(() => sent.length === 1);
      await work(aWebhook('one'));
      expect(notesOf('one')).toEqual([['held back', 'one', expect.any(Number)]]);
      answer = async () => ({ kind: 'delivered', status: 204 });
      probeEnds({ kind: 'delivered', status: 204 });
      await soon(() => notesOf('probe').length > 0);
      await work(aWebhook('two'), aWebhook('three'));
      expect(sent.map(({ id }) => id)).toEqual(['probe', 'two', 'three']);
    });

    it('sends what the operator sent again, and goes on with all when that was taken', async () => {
      answer = async () => ({ kind: 'delivered', status: 204 });
      await work(aWebhook('by-hand', 1, { isByHand: true }));
      await work(aWebhook('next'));
      expect(sent.map(({ id }) => id)).toEqual(['by-hand', 'next']);
    });

    it('hands on the probe of an event whose secret cannot be had', async () => {
      nowMs = PAUSE_MS;
      secretsOf = () => Promise.reject(new AppError('timeout', 'no answer'));
      await work(aWebhook('unsigned'));
      secretsOf = async () => [SECRET];
      await work(aWebhook('next'));
      expect(sent.map(({ id }) => id)).toEqual(['next']);
    });

    it('gives up what has been owed for 75 hours, and not an hour earlier', async () => {
      await work(
        aWebhook('old', 1, { owedForMs: 75 * 3_600_000 }),
        aWebhook('young', 1, { owedForMs: 74 * 3_600_000 }),
      );
      expect(notesOf('old')).toEqual([['given up untried', 'old', expect.any(String)]]);
      expect(notesOf('young')).toEqual([['held back', 'young', PAUSE_MS]]);
      expect(sent).toEqual([]);
    });
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

  it('notes a failed attempt without its words when PostgreSQL refuses them, instead of sending it again', async () => {
    answer = async () => ({ kind: 'failed', status: null, error: 'nul\u0000', retryAfterMs: null });
    deliveries.refuses = ({ error }) => error?.includes('\u0000') === true;
    await sendAll(aWebhook('one'));
    expect(deliveries.notes).toEqual([
      ['postponed', 'one', { status: null, error: 'the attempt failed' }, expect.any(Number)],
    ]);
    expect(sent).toHaveLength(1);
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

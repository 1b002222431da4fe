import { AppError } from '@libs/errors';
import type { GenerationOpening, GenerationSettlement, OpeningVerdict } from '@libs/persistence';
import { anOpening, aSettlement } from '@libs/persistence/testing';
import { GenerationRecorder } from './generation-recorder';
import type { GenerationTicket } from './generation-ticket';
import { RecentlyLocked } from './recently-locked';

const REST_MS = 5_000;

/** PostgreSQL with locked accounts: a statement behind a lock fails when `timeOut` is called. */
class LockedBooks {
  readonly locked = new Set(['acme']);
  /** Whether it can be seen which accounts are locked. */
  isSeen = true;
  questions = 0;
  readonly tries: string[][] = [];
  readonly extended: string[] = [];
  readonly settled: GenerationSettlement[] = [];
  #timeOut = Promise.withResolvers<void>();

  timeOut(): void {
    this.#timeOut.resolve();
    this.#timeOut = Promise.withResolvers<void>();
  }

  async open(openings: readonly GenerationOpening[]): Promise<OpeningVerdict[]> {
    const organizations = openings.map(({ organizationId }) => organizationId);
    this.tries.push(organizations);
    if (organizations.some((id) => this.locked.has(id))) {
      await this.#timeOut.promise;
      throw lockTimeout();
    }
    return openings.map(() => ({ refusedBy: null, availableUsd: '0', keyLeftUsd: null }));
  }

  async lockedAmong(ids: readonly string[] | 'all'): Promise<ReadonlySet<string>> {
    this.questions += 1;
    const seen = this.isSeen ? [...this.locked] : [];
    return new Set(seen.filter((id) => ids === 'all' || ids.includes(id)));
  }

  async extend({ organizationId }: { readonly organizationId: string }): Promise<null> {
    this.extended.push(organizationId);
    if (this.locked.has(organizationId)) throw lockTimeout();
    return null;
  }

  async settle(settlements: readonly GenerationSettlement[]): Promise<number> {
    this.settled.push(...settlements);
    return settlements.length;
  }

  refusal = (): Promise<AppError> => Promise.reject(new Error('nothing is refused for money here'));
}

const lockTimeout = (): AppError => {
  const cause = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
  return new AppError('unavailable', 'The service is temporarily unavailable', { cause });
};

describe(RecentlyLocked.name, () => {
  let books: LockedBooks;
  let recorder: GenerationRecorder;
  let nowMs: number;

  const open = (organizationId: string): GenerationTicket => recorder.open(anOpening({ organizationId }), 1n);
  /** Like all calls, it is withdrawn when it is refused. */
  const call = async (organizationId: string): Promise<string> => {
    const ticket = open(organizationId);
    try {
      await ticket.covered;
      return 'opened';
    } catch (error) {
      ticket.withdraw({ ...aSettlement({ ...ticket.opening, holdUsd: '0' }, '0'), costPicoUsd: 0n });
      return String(AppError.from(error).status);
    }
  };
  const triesOf = (organizationId: string): number =>
    books.tries.filter((tried) => tried.includes(organizationId)).length;
  const untilTried = async (organizationId: string, times: number): Promise<void> => {
    while (triesOf(organizationId) < times) await new Promise(setImmediate);
  };
  /** The first timeout, and if it is not seen what is locked, another one. */
  const locksOut = async (organizationId: string): Promise<void> => {
    const first = call(organizationId);
    for (let times = 1; times <= (books.isSeen ? 1 : 2); times += 1) {
      await untilTried(organizationId, times);
      books.timeOut();
    }
    expect(await first).toBe('503');
  };

  beforeEach(() => {
    books = new LockedBooks();
    nowMs = 0;
    const silent = { log() {}, error() {}, warn() {} };
    recorder = new GenerationRecorder(books, async (opening) => opening, silent, { nowMs: () => nowMs });
  });

  it('refuses calls of the organization at once while its account is locked', async () => {
    await locksOut('acme');
    expect(await Promise.all([call('acme'), call('other')])).toEqual(['503', 'opened']);
    nowMs = REST_MS - 1;
    expect(await call('acme')).toBe('503');
    expect([books.tries, books.questions]).toEqual([[['acme'], ['other']], 1]);
  });

  it('asks after five seconds whether the account is still locked, and has no call wait for it', async () => {
    await locksOut('acme');
    nowMs = REST_MS;
    expect(await Promise.all([call('acme'), call('other')])).toEqual(['503', 'opened']);
    expect([triesOf('acme'), books.questions]).toEqual([1, 2]);
  });

  it('writes nothing for calls that it refuses, however many they are', async () => {
    await locksOut('acme');
    const calls = Array.from({ length: 500 }, () => call('acme'));
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['503']));
    expect(recorder.waiting).toBe(0);
    await recorder.flush();
    expect(books.settled).toEqual([]);
  });

  it('knows all locked accounts after the timeout of one', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `locked-${index}`);
    for (const id of ids) books.locked.add(id);
    await locksOut('locked-0');
    expect(new Set(await Promise.all(ids.map(call)))).toEqual(new Set(['503']));
    expect(books.tries).toEqual([['locked-0']]);
  });

  it('opens calls of the organization together with the others once its account was free', async () => {
    await locksOut('acme');
    nowMs = REST_MS;
    books.locked.clear();
    expect(await call('acme')).toBe('opened');
    expect(await Promise.all([call('acme'), call('other')])).toEqual(['opened', 'opened']);
    expect(books.tries).toEqual([['acme'], ['acme'], ['acme', 'other']]);
  });

  it('opens calls behind a lock that is not seen separately, without letting the calls of others wait', async () => {
    books.isSeen = false;
    await locksOut('acme');
    const [first, other] = [call('acme'), call('other')];
    expect(await other).toBe('opened');
    await untilTried('acme', 3);
    const more = [call('acme'), call('acme')];
    expect(await call('other')).toBe('opened');
    // One statement waits for the lock at a time.
    expect(triesOf('acme')).toBe(3);
    books.locked.clear();
    books.timeOut();
    expect(await Promise.all([first, ...more])).toEqual(['opened', 'opened', 'opened']);
  });

  describe('a running call whose account is locked', () => {
    let ticket: GenerationTicket;
    let other: GenerationTicket;
    const untilAsked = async (questions: number): Promise<void> => {
      while (books.questions < questions) await new Promise(setImmediate);
    };

    beforeEach(async () => {
      books.locked.clear();
      [ticket, other] = [open('acme'), open('acme')];
      await Promise.all([ticket.covered, other.covered]);
      books.locked.add('acme');
    });

    it('has its hold extended once the account is free, and asks every five seconds until then', async () => {
      const extensions = [ticket.cover(3n)];
      await untilAsked(1);
      extensions.push(other.cover(3n));
      nowMs = REST_MS;
      await untilAsked(2);
      expect(books.extended).toHaveLength(1);
      books.locked.clear();
      nowMs = 2 * REST_MS;
      await Promise.all(extensions);
      expect([ticket.holdPicoUsd, other.holdPicoUsd]).toEqual([3n, 3n]);
      expect(books.questions).toBe(3);
    });

    it('fails after 30 seconds', async () => {
      const extension = Promise.allSettled([ticket.cover(3n)]);
      await untilAsked(1);
      nowMs = 30_000;
      expect(await extension).toMatchObject([{ status: 'rejected', reason: expect.any(AppError) as AppError }]);
      expect(books.extended).toHaveLength(1);
    });

    it('waits no longer when it has ended', async () => {
      const extension = Promise.allSettled([ticket.cover(3n)]);
      await untilAsked(1);
      ticket.settle({ ...aSettlement({ ...ticket.opening, holdUsd: '0' }, '0'), costPicoUsd: 0n });
      expect(await extension).toMatchObject([{ status: 'rejected', reason: expect.any(AppError) as AppError }]);
      expect(books.extended).toHaveLength(1);
    });
  });

  it('extends no hold of a call that ended while it waited for its turn', async () => {
    books.locked.clear();
    const tickets = Array.from({ length: 20 }, () => open('acme'));
    await Promise.all(tickets.map((ticket) => ticket.decided()));
    const ends = tickets.map((ticket) => ticket.cover(2n));
    for (const ticket of tickets) {
      ticket.settle({ ...aSettlement({ ...ticket.opening, holdUsd: '0' }, '0'), costPicoUsd: 0n });
    }
    await Promise.allSettled(ends);
    expect(books.extended.length).toBeLessThanOrEqual(6);
  });

  it('extends six holds at a time, so that locked accounts leave connections to others', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `locked-${index}`);
    const tickets = ids.map(open);
    await Promise.all(tickets.map((ticket) => ticket.decided()));
    for (const id of ids) books.locked.add(id);
    const extensions = Promise.allSettled(tickets.map((ticket) => ticket.cover(2n)));
    while (books.questions === 0) await new Promise(setImmediate);
    nowMs = 30_000;
    const ends = await extensions;
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
    expect(books.extended).toHaveLength(6);
  });
});

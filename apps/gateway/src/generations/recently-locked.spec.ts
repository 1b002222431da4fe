import { AppError } from '@libs/errors';
import type { GenerationOpening, OpeningVerdict } from '@libs/persistence';
import { anOpening } from '@libs/persistence/testing';
import { GenerationRecorder } from './generation-recorder';
import { RecentlyLocked } from './recently-locked';

const REST_MS = 5_000;

/** PostgreSQL with locked accounts: a statement behind a lock fails when `timeOut` is called. */
class LockedBooks {
  readonly locked = new Set(['acme']);
  readonly tries: string[][] = [];
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
      const cause = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
      throw new AppError('unavailable', 'The service is temporarily unavailable', { cause });
    }
    return openings.map(() => ({ refusedBy: null, availableUsd: '0', keyLeftUsd: null }));
  }

  lockedAmong = async (ids: readonly string[]): Promise<ReadonlySet<string>> =>
    new Set(ids.filter((id) => this.locked.has(id)));

  settle = (): Promise<number> => Promise.reject(new Error('nothing is charged here'));
  extend = (): Promise<null> => Promise.reject(new Error('nothing is extended here'));
  refusal = (): Promise<AppError> => Promise.reject(new Error('nothing is refused for money here'));
}

describe(RecentlyLocked.name, () => {
  let books: LockedBooks;
  let recorder: GenerationRecorder;
  let nowMs: number;

  const call = async (organizationId: string): Promise<string> => {
    try {
      await recorder.open(anOpening({ organizationId }), 1n).covered;
      return 'opened';
    } catch (error) {
      return String(AppError.from(error).status);
    }
  };

  const untilTried = async (organizations: number): Promise<void> => {
    while (books.tries.flat().length < organizations) await new Promise(setImmediate);
  };

  beforeEach(async () => {
    books = new LockedBooks();
    nowMs = 0;
    recorder = new GenerationRecorder(
      books,
      async (opening) => opening,
      { log() {}, error() {}, warn() {} },
      { nowMs: () => nowMs },
    );
    const first = call('acme');
    await untilTried(1);
    books.timeOut();
    expect(await first).toBe('503');
  });

  it('refuses calls of the organization at once while its account rests', async () => {
    expect(await Promise.all([call('acme'), call('other')])).toEqual(['503', 'opened']);
    expect(books.tries).toEqual([['acme'], ['other']]);
  });

  it('tries the organization again without letting the calls of others wait behind its lock', async () => {
    nowMs = REST_MS;
    const [locked, other] = [call('acme'), call('other')];
    expect(await other).toBe('opened');
    expect(await Promise.all([call('acme'), call('other')])).toEqual(['503', 'opened']);
    books.timeOut();
    expect(await locked).toBe('503');
    expect(books.tries.filter((tried) => tried.includes('acme'))).toEqual([['acme'], ['acme']]);
  });

  it('waits for four locks at a time, and opens the calls of an account that is free again', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `locked-${index}`);
    for (const id of ids) books.locked.add(id);
    const first = ids.map(call);
    await untilTried(ids.length);
    books.timeOut();
    expect(new Set(await Promise.all(first))).toEqual(new Set(['503']));
    nowMs = REST_MS;
    books.locked.delete('locked-39');
    books.tries.length = 0;
    const again = ids.map(call);
    expect(await again.at(-1)).toBe('opened');
    const refused = await Promise.all(again.slice(4, -1));
    expect([refused.length, new Set(refused)]).toEqual([35, new Set(['503'])]);
    const waiting = ['locked-0', 'locked-1', 'locked-2', 'locked-3'];
    expect(books.tries.flat().toSorted()).toEqual([...waiting, 'locked-39'].toSorted());
    books.timeOut();
    expect(await Promise.all(again.slice(0, 4))).toEqual(['503', '503', '503', '503']);
  });

  it('opens calls of the organization together with the others once its account was free', async () => {
    nowMs = REST_MS;
    books.locked.clear();
    expect(await call('acme')).toBe('opened');
    expect(await Promise.all([call('acme'), call('other')])).toEqual(['opened', 'opened']);
    expect(books.tries).toEqual([['acme'], ['acme'], ['acme', 'other']]);
  });
});

import { AppError } from '@libs/errors';
import type { GenerationOpening, OpeningVerdict } from '@libs/persistence';
import { anOpening } from '@libs/persistence/testing';
import { GenerationRecorder } from './generation-recorder';
import { RecentlyLocked } from './recently-locked';

const REST_MS = 5_000;

/** PostgreSQL with a locked account: a statement behind the lock fails when `timeOut` is called. */
class LockedBooks {
  locked: string | null = 'acme';
  readonly tries: string[][] = [];
  #timeOut = Promise.withResolvers<void>();

  timeOut(): void {
    this.#timeOut.resolve();
    this.#timeOut = Promise.withResolvers<void>();
  }

  async open(openings: readonly GenerationOpening[]): Promise<OpeningVerdict[]> {
    const organizations = openings.map(({ organizationId }) => organizationId);
    this.tries.push(organizations);
    if (this.locked !== null && organizations.includes(this.locked)) {
      await this.#timeOut.promise;
      const cause = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
      throw new AppError('unavailable', 'The service is temporarily unavailable', { cause });
    }
    return openings.map(() => ({ refusedBy: null, availableUsd: '0', keyLeftUsd: null }));
  }

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
    while (books.tries.length === 0) await new Promise(setImmediate);
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
    expect(books.tries).toEqual([['acme'], ['acme'], ['other'], ['other']]);
  });

  it('opens calls of the organization together with the others once its account was free', async () => {
    nowMs = REST_MS;
    books.locked = null;
    expect(await call('acme')).toBe('opened');
    expect(await Promise.all([call('acme'), call('other')])).toEqual(['opened', 'opened']);
    expect(books.tries).toEqual([['acme'], ['acme'], ['acme', 'other']]);
  });
});

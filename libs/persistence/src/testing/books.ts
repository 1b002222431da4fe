import type { Database } from '../database';
import { GenerationsRepository } from '../generations/generations.repository';
import { LedgerRepository } from '../ledger/ledger.repository';
import { openTestDatabase } from './test-database';

/** The ledger, and the calls that are paid out of it, in a database of a spec's own. */
export interface Books {
  readonly database: Database;
  readonly ledger: LedgerRepository;
  readonly generations: GenerationsRepository;
}

/** Opened before the tests of the block that asks, closed behind them; after each of them the books must balance. */
export function booksOfSpec(): Books {
  const books = {} as Books;
  let close = (): Promise<void> => Promise.resolve();

  beforeAll(async () => {
    const opened = await openTestDatabase();
    const { database } = opened;
    close = () => opened.close();
    Object.assign(books, {
      database,
      ledger: new LedgerRepository(database),
      generations: new GenerationsRepository(database),
    } satisfies Books);
  });

  afterEach(async () => {
    expect(await books.ledger.audit()).toEqual([]);
  });

  afterAll(() => close());
  return books;
}

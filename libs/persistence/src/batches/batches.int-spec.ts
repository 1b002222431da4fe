import { openTestDatabase, type OpenTestDatabase } from '../testing/test-database';
import { batchesOf, storeBatch } from '../testing/batch-fixture';
import { BatchesRepository, type BatchWork } from './batches.repository';

describe(BatchesRepository.name, () => {
  let open: OpenTestDatabase;
  let repository: BatchesRepository;
  let work: BatchWork;

  beforeAll(async () => {
    open = await openTestDatabase();
    repository = batchesOf(open.database);
    const { id } = await storeBatch(open.database, 12);
    work = (await repository.claimValidation(id, 60_000))!;
  });

  afterAll(() => open.close());

  /** The lines of every page, by their place in the batch. */
  async function pages(page: { lines: number; bytes: number }): Promise<number[][]> {
    const found: number[][] = [];
    for (let after = -1; ; after = found.at(-1)!.at(-1)!) {
      const lines = await repository.linesAfter(work, after, page);
      if (lines.length === 0) return found;
      found.push(lines.map(({ seq }) => seq));
    }
  }

  // A line of this batch weighs 9 bytes, from the tenth on 10.
  it.each([
    [
      'as many lines as it may',
      { lines: 5, bytes: 1_000 },
      [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
        [10, 11],
      ],
    ],
    ['all lines when they fit', { lines: 100, bytes: 1_000 }, [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]]],
    ['lines up to the one that fills it', { lines: 100, bytes: 46 }, [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11]]],
    ['one line when a single one fills it', { lines: 4, bytes: 1 }, Array.from({ length: 12 }, (_, seq) => [seq])],
  ])('reads pages of %s', async (_case, page, expected) => {
    expect(await pages(page)).toEqual(expected);
  });
});

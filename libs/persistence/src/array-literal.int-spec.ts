import fc from 'fast-check';
import { plainArray, textArray } from './array-literal';
import type { Database } from './database';
import { openTestDatabase, type OpenTestDatabase } from './testing';

describe(textArray.name, () => {
  let opened: OpenTestDatabase;
  let database: Database;

  beforeAll(async () => {
    opened = await openTestDatabase();
    ({ database } = opened);
  });

  afterAll(() => opened.close());

  it('brings every text to PostgreSQL as it is', async () => {
    // PostgreSQL knows no NUL in text, and no half of a surrogate pair.
    const text = fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0') && value.isWellFormed());
    const texts = fc.array(fc.option(fc.oneof(text, fc.constantFrom('NULL', '{}', ',', '"', '\\', '\\"', ' '))));
    await fc.assert(
      fc.asyncProperty(texts, async (values) => {
        const row = await database.firstRow<{ values: (string | null)[] }>({
          sql: 'SELECT $1::text[] AS values',
          values: [textArray(values)],
        });
        expect(row?.values).toEqual(values);
      }),
      { numRuns: 200 },
    );
  });

  it('brings numbers, decimals and ids', async () => {
    const row = await database.firstRow<{ ids: unknown; numbers: unknown; costs: unknown }>({
      sql: 'SELECT $1::text[] AS ids, $2::integer[] AS numbers, $3::numeric[]::text[] AS costs',
      values: [plainArray(['gen-1-a', null]), plainArray([1, null, -2]), plainArray(['0.000000000001', '0'])],
    });
    expect(row).toEqual({ ids: ['gen-1-a', null], numbers: [1, null, -2], costs: ['0.000000000001', '0'] });
  });
});

import { openTestDatabase, storeVideo, type OpenTestDatabase } from '../testing';
import { withinRooms, type ClaimRooms } from './claim-rooms';

const CLAIMED = { table: 'videos', id: 'id', at: 'next_at', open: 'finished_at IS NULL', due: 'next_at <= now()' };
const ROOMS: ClaimRooms = { accounts: { of: {}, newcomer: 16 }, providers: { of: {}, newcomer: 21 } };
const BACKLOG = 50_000;

describe(withinRooms.name, () => {
  let opened: OpenTestDatabase;

  beforeAll(async () => {
    opened = await openTestDatabase();
  });

  afterAll(() => opened.close());

  /** Returns the number of pages that the query reads, cached or not. */
  async function pagesRead(): Promise<number> {
    await opened.database.execute({ sql: 'VACUUM ANALYZE videos' });
    const [row] = await opened.database.rows<{ 'QUERY PLAN': readonly { Plan: Readonly<Record<string, number>> }[] }>({
      sql: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${withinRooms(CLAIMED, '$1', '$2')}`,
      values: [JSON.stringify(ROOMS), 32],
    });
    const { Plan } = row!['QUERY PLAN'][0]!;
    return Plan['Shared Hit Blocks']! + Plan['Shared Read Blocks']!;
  }

  it('reads no more of a backlog of thousands than fits into the rooms', async () => {
    const { id } = await storeVideo(opened.database);
    for (let other = 0; other < 50; other += 1) await storeVideo(opened.database, { provider: `vendor-${other % 5}` });
    const without = await pagesRead();
    await opened.database.execute({
      sql: `INSERT INTO videos SELECT copy.* FROM videos v CROSS JOIN generate_series(1, ${BACKLOG}) n
            CROSS JOIN LATERAL jsonb_populate_record(v, jsonb_build_object(
              'id', 'copy-' || n, 'next_at', v.next_at - n * interval '1 millisecond')) copy
            WHERE v.id = $1`,
      values: [id],
    });
    // The index is deeper, and a few more rows fit into the rooms. All rows would be ten times as many pages.
    expect(await pagesRead()).toBeLessThan(3 * without);
  });
});

import { randomUUID } from 'node:crypto';
import { openTestDatabase, storeBatch, type OpenTestDatabase } from '../testing';
import { BatchIntakeRepository } from './batch-intake.repository';
import { BatchLineEncoder } from './batch-line-encoder';
import { BatchViewsRepository } from './batch-views.repository';
import { StaleUploadsRepository } from './stale-uploads.repository';

describe(BatchIntakeRepository.name, () => {
  let opened: OpenTestDatabase;
  let intake: BatchIntakeRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    intake = new BatchIntakeRepository(opened.database);
  });

  afterAll(() => opened.close());

  const owner = {
    organizationId: '00000000-0000-4000-8000-000000000001',
    workspaceId: '00000000-0000-4000-8000-000000000002',
    apiKeyHash: 'c'.repeat(64),
  };

  async function rowsOf(number: bigint): Promise<number[]> {
    const counts = await opened.database.rows<{ count: string }>({
      sql: `SELECT count(*) FROM batches WHERE number = $1 UNION ALL SELECT count(*) FROM batch_lines WHERE batch_number = $1
            UNION ALL SELECT count(*) FROM batch_segments WHERE batch_number = $1`,
      values: [number],
    });
    return counts.map((row) => Number(row.count));
  }

  async function discardStale(): Promise<number> {
    const stale = new StaleUploadsRepository(opened.database);
    let discarded = 0;
    for (const key of await stale.find(10, [])) if (await stale.discard(key)) discarded += 1;
    return discarded;
  }

  it('keeps every byte of a body and every character of a custom_id', async () => {
    const key = await intake.reserve('batch-bytes');
    const body = Buffer.from('{"text":"\\u0000 é \\ud83d\\ude00","keep": [1,  2]}');
    const customId = '__proto__ "quoted", comma é 日本';
    await intake.slice(async (session) => {
      const encoder = new BatchLineEncoder(key.createdOn, key.number, 1024);
      encoder.add(0, customId, body);
      await intake.copyLines(session, 'batch_lines', encoder.take());
    });
    const [row] = await opened.database.rows<{ custom_id: string; body: Buffer; day: string }>({
      sql: 'SELECT custom_id, body, created_on::text AS day FROM batch_lines WHERE batch_number = $1',
      values: [key.number],
    });
    expect(row).toEqual({ custom_id: customId, body, day: key.createdOn });
  });

  it('names a custom_id that appears twice, also when slices lie between, and leaves no row after a discard', async () => {
    const key = await intake.reserve('batch-twice');
    const write = (customId: string, seq: number): Promise<void> =>
      intake.slice(async (session) => {
        const partition = await intake.keepReceiving(session, key, owner, { leaseMs: 60_000, isBegun: seq > 0 });
        const encoder = new BatchLineEncoder(key.createdOn, key.number, 1024);
        encoder.add(seq, customId, Buffer.from('{}'));
        await intake.copyLines(session, partition, encoder.take());
        await intake.addSegments(session, key, [{ number: seq, firstSeq: seq, lastSeq: seq }]);
      });
    await write('a, b', 0);
    await expect(write('a, b', 1)).rejects.toMatchObject({
      code: 'unprocessable',
      message: 'custom_id "a, b" appears more than once in requests',
    });
    expect(await rowsOf(key.number)).toEqual([1, 1, 1]);
    await intake.discard(key);
    expect(await rowsOf(key.number)).toEqual([0, 0, 0]);
  });

  it('sweeps an upload whose gateway died, and never an accepted batch', async () => {
    const accepted = await storeBatch(opened.database, 2);
    const key = await intake.reserve('batch-stale');
    await intake.slice((session) => intake.keepReceiving(session, key, owner, { leaseMs: -1, isBegun: false }));
    expect(await discardStale()).toBe(1);
    expect(await rowsOf(key.number)).toEqual([0, 0, 0]);
    await intake.discard(accepted);
    expect((await rowsOf(accepted.number))[0]).toBe(1);
  });

  it('leaves an upload alone that renewed its lease after it was found', async () => {
    const key = await intake.reserve('batch-alive');
    await intake.slice((session) => intake.keepReceiving(session, key, owner, { leaseMs: -1, isBegun: false }));
    const stale = new StaleUploadsRepository(opened.database);
    const found = (await stale.find(10, [])).find(({ id }) => id === key.id);
    await intake.slice((session) => intake.keepReceiving(session, key, owner, { leaseMs: 60_000, isBegun: true }));
    expect(await stale.discard(found!)).toBe(false);
    expect((await rowsOf(key.number))[0]).toBe(1);
  });

  it('does not begin anew what was swept while it was being sent: the batch would lack its first lines', async () => {
    const key = await intake.reserve('batch-swept');
    await intake.slice((session) => intake.keepReceiving(session, key, owner, { leaseMs: -1, isBegun: false }));
    await intake.slice((session) => intake.keepReceiving(session, key, owner, { leaseMs: -1, isBegun: true }));
    expect(await discardStale()).toBe(1);
    const goOn = intake.slice((session) =>
      intake.keepReceiving(session, key, owner, { leaseMs: 60_000, isBegun: true }),
    );
    await expect(goOn).rejects.toMatchObject({ code: 'server' });
    expect(await rowsOf(key.number)).toEqual([0, 0, 0]);
  });

  it('keeps with whose key a batch is run, and where its end is announced', async () => {
    const batch = await storeBatch(opened.database, 1);
    const accepted = {
      endpoint: '/v1/chat/completions',
      model: 'vendor/model',
      provider: 'vendor',
      upstreamModel: 'model',
      credentialId: randomUUID(),
      callbackUrl: 'https://receiver.example/hook',
      total: 1,
      idempotency: null,
    };
    await opened.database.execute({ sql: `UPDATE batches SET status = 'receiving' WHERE id = $1`, values: [batch.id] });
    await intake.slice((session) => intake.accept(session, batch, accepted));
    const row = await opened.database.firstRow({
      sql: 'SELECT credential_id FROM batches WHERE id = $1',
      values: [batch.id],
    });
    expect(row).toEqual({ credential_id: accepted.credentialId });
    const views = new BatchViewsRepository(opened.database);
    expect(await views.findForWorkspace(batch.id, batch.owner)).toMatchObject({ callbackUrl: accepted.callbackUrl });
  });
});

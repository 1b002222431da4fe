import { Logger } from '@nestjs/common';
import {
  BatchResultsRepository,
  NativeBatchesRepository,
  NativeSegmentsRepository,
  type NativeBatch,
} from '@libs/persistence';
import { openTestDatabase, storeBatch, type OpenTestDatabase } from '@libs/persistence/testing';
import type { Reach } from './native-reach';
import { NativeSubmissionService } from './native-submission.service';

describe(NativeSubmissionService.name, () => {
  let opened: OpenTestDatabase;
  let orders: NativeBatchesRepository;
  let calledOff: string[];

  beforeEach(async () => {
    Logger.overrideLogger(false);
    opened = await openTestDatabase();
    orders = new NativeBatchesRepository(opened.database);
    calledOff = [];
  });

  afterEach(() => opened.close());

  /** An order whose file is at its provider, in the hands of this worker. */
  async function claimOrder(): Promise<NativeBatch> {
    const { id } = await storeBatch(opened.database, 1);
    const execute = (sql: string): Promise<number> => opened.database.execute({ sql, values: [id] });
    await execute(`UPDATE batches SET status = 'in_progress', in_progress_at = now() WHERE id = $1`);
    await execute(`
      INSERT INTO native_batches (reference, batch_id, batch_number, created_on, part, first_segment, last_segment,
        first_seq, last_seq, endpoint, model, provider, upstream_model, organization_id, workspace_id, api_key_hash,
        finish_by, state, input_file_id)
      SELECT 'nb1', id, number, created_on, 0, 0, 0, 0, 0, endpoint, model, provider, upstream_model, organization_id,
        workspace_id, api_key_hash, now() + interval '20 hours', 'uploaded', 'file-1' FROM batches WHERE id = $1`);
    return (await orders.claim(1, 60_000))[0]!;
  }

  /** Submits the order; `meanwhile` happens after the provider took it and before its answer is here. */
  async function submit(order: NativeBatch, meanwhile: () => Promise<unknown>): Promise<void> {
    const batches = {
      upload: async () => 'file-1',
      create: async () => {
        await meanwhile();
        return { id: 'job-1' };
      },
      cancel: async (id: string) => void calledOff.push(id),
    };
    const service = new NativeSubmissionService(
      orders,
      new NativeSegmentsRepository(opened.database),
      new BatchResultsRepository(opened.database),
    );
    await service.submit(order, { lane: { batches, upstreamApi: 'chat' }, access: {} } as unknown as Reach, []);
  }

  const row = () =>
    opened.database.firstRow({ sql: `SELECT state, upstream_id FROM native_batches WHERE reference = 'nb1'` });

  /** As the lease of a worker that stood still for a while. */
  async function takenOver(): Promise<NativeBatch> {
    await opened.database.execute({ sql: 'UPDATE native_batches SET available_at = now()' });
    return (await orders.claim(1, 60_000))[0]!;
  }

  it('notes what the provider called an order whose lease was lost while it answered', async () => {
    const order = await claimOrder();
    let heir!: NativeBatch;
    await submit(order, async () => (heir = await takenOver()));
    expect(await row()).toEqual({ state: 'running', upstream_id: 'job-1' });
    expect(await orders.notArrived(heir)).toBe(false);
    expect(calledOff).toEqual([]);
  });

  it('calls a job off that came too late for an order that has ended', async () => {
    const order = await claimOrder();
    await submit(order, async () => orders.finish(await takenOver(), 'given up'));
    expect(await row()).toEqual({ state: 'done', upstream_id: null });
    expect(calledOff).toEqual(['job-1']);
  });

  it('leaves a job alone that another worker found meanwhile', async () => {
    const order = await claimOrder();
    await submit(order, async () => orders.running(await takenOver(), 'job-1', false));
    expect(await row()).toEqual({ state: 'running', upstream_id: 'job-1' });
    expect(calledOff).toEqual([]);
  });
});

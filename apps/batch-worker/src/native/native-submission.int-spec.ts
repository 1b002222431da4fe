import { Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { aModel, anEndpoint } from '@libs/inference/testing';
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

  /** An order in the hands of this worker, whose file is at its provider if it has one. */
  async function claimOrder(lines = 1, inputFileId: string | null = 'file-1'): Promise<NativeBatch> {
    const { id } = await storeBatch(opened.database, lines);
    const execute = (sql: string, ...more: (number | string | null)[]): Promise<number> =>
      opened.database.execute({ sql, values: [id, ...more] });
    await execute(`UPDATE batches SET status = 'in_progress', in_progress_at = now() WHERE id = $1`);
    const sql = `
      INSERT INTO native_batches (reference, batch_id, batch_number, created_on, part, first_segment, last_segment,
        first_seq, last_seq, endpoint, model, provider, upstream_model, organization_id, workspace_id, api_key_hash,
        finish_by, state, input_file_id)
      SELECT 'nb1', id, number, created_on, 0, 0, 0, 0, $2 - 1, endpoint, model, provider, upstream_model,
        organization_id, workspace_id, api_key_hash, now() + interval '20 hours', 'uploaded', $3
      FROM batches WHERE id = $1`;
    await execute(sql, lines, inputFileId);
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
    await serviceOf().submit(order, { lane: { batches, upstreamApi: 'chat' }, access: {} } as unknown as Reach, []);
  }

  const serviceOf = (): NativeSubmissionService =>
    new NativeSubmissionService(
      orders,
      new NativeSegmentsRepository(opened.database),
      new BatchResultsRepository(opened.database),
    );

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

  it('is searched by the number of lines of its last try, after a policy has kept some of them back', async () => {
    const order = await claimOrder(4, null);
    await opened.database.execute({
      sql: `UPDATE batch_lines SET body = convert_to('{"tools":[{"type":"web_search"}]}', 'UTF8') WHERE seq = 0`,
    });
    await opened.database.execute({ sql: `UPDATE batch_segments SET state = 'parked'` });
    const searchedFor: number[] = [];
    const batches = {
      create: () => Promise.reject(new AppError('provider_unavailable', 'the connection broke')),
      find: async ({ total }: { total: number }) => {
        searchedFor.push(total);
        return [];
      },
    };
    const lane = { batches, upstreamApi: 'messages', write: (customId: string) => Buffer.from(customId) };
    const candidate = { model: aModel(), endpoint: anEndpoint() };
    const at = { lane, candidate, access: {}, sending: {} } as unknown as Reach;
    const service = serviceOf();
    await opened.database.execute({ sql: 'UPDATE native_batches SET sent_lines = 4' });
    const policies = [{ owner: 'key', ignoredTools: ['web_search'] }] as const;
    await expect(service.submit(order, at, policies)).rejects.toThrow('the connection broke');
    await service.lookFor(await takenOver(), at);
    expect(searchedFor).toEqual([3]);
  });

  it('leaves a job alone that another worker found meanwhile', async () => {
    const order = await claimOrder();
    await submit(order, async () => orders.running(await takenOver(), 'job-1', false));
    expect(await row()).toEqual({ state: 'running', upstream_id: 'job-1' });
    expect(calledOff).toEqual([]);
  });
});

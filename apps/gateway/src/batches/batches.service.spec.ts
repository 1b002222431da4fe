import type { BatchResultPagesRepository, BatchView, CopyRow } from '@libs/persistence';
import { EdgePools } from '../http/edge-pools';
import { RequestClaim } from '../http/request-claim';
import { BatchesService } from './batches.service';
import { rowOf } from './testing/result-row';

const MIB = 1024 * 1024;
const RESULTS = 6;
const TENANT = { organizationId: 'o', workspaceId: 'w' } as never;
const BATCH = { id: 'batch-1', number: 1n, status: 'completed', completed: RESULTS, failed: 0 } as BatchView;

describe(BatchesService.name, () => {
  let pools: EdgePools;
  /** Reserved while a page is read. */
  let reserved: number[];

  beforeEach(() => {
    pools = new EdgePools({ memoryBytes: 60 * MIB });
    reserved = [];
  });

  /** Reads results of so many bytes, each a page of its own. */
  function serviceOf(resultBytes: number): BatchesService {
    const body = JSON.stringify('x'.repeat(resultBytes - 2));
    const results = {
      weigh: async () => ({ items: 1, bytes: resultBytes + 1 }),
      page: async (
        _tenant: unknown,
        _batch: unknown,
        { afterSeq }: { afterSeq: number },
        add: (row: CopyRow) => void,
      ) => {
        reserved.push(pools.memory.reserved);
        add(rowOf({ seq: afterSeq + 1, customId: 'a', statusCode: 200, requestId: 'r', body }));
      },
    } as unknown as BatchResultPagesRepository;
    return new BatchesService({} as never, results, {} as never, {} as never);
  }

  function claimOf(workspace: string): RequestClaim {
    const claim = new RequestClaim(pools);
    claim.work({ isPublic: false, holders: [workspace, workspace] });
    return claim;
  }

  async function textOf(pieces: AsyncGenerator<Buffer>): Promise<string> {
    const read: Buffer[] = [];
    for await (const piece of pieces) read.push(piece);
    return Buffer.concat(read).toString();
  }

  it('counts a page of results as memory of its reader while it is read, and until it is taken', async () => {
    const claim = claimOf('w');
    const pieces = await serviceOf(4 * MIB).write(BATCH, TENANT, claim);
    expect(reserved[0]).toBeGreaterThanOrEqual(12 * MIB);
    expect(pools.memory.reserved).toBeGreaterThanOrEqual(4 * MIB);
    expect(pools.memory.reserved).toBeLessThan(5 * MIB);
    const { results } = JSON.parse(await textOf(pieces)) as { results: unknown[] };
    expect(results).toHaveLength(RESULTS);
    expect(reserved).toHaveLength(RESULTS);
    expect(pools.memory.reserved).toBe(0);
    claim.release();
  });

  it('refuses a reader for whose first page there is no room, before the answer begins', async () => {
    const service = serviceOf(4 * MIB);
    const held = claimOf('w');
    await held.add(30 * MIB);
    await expect(service.write(BATCH, TENANT, claimOf('w'))).rejects.toMatchObject({ code: 'provider_overloaded' });
    expect(reserved).toEqual([]);
    await textOf(await service.write(BATCH, TENANT, claimOf('other')));
    held.release();
    expect(pools.memory.reserved).toBe(0);
  });

  it('lets a reader whose results have begun wait for room', async () => {
    const service = serviceOf(4 * MIB);
    const claim = claimOf('w');
    const pieces = await service.write(BATCH, TENANT, claim);
    const held = claimOf('w');
    await held.add(30 * MIB);
    const text = textOf(pieces);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(reserved).toHaveLength(1);
    held.release();
    expect((JSON.parse(await text) as { results: unknown[] }).results).toHaveLength(RESULTS);
  });

  it('serves a result that needs more than one workspace may have', async () => {
    const pieces = await serviceOf(20 * MIB).write({ ...BATCH, completed: 1 }, TENANT, claimOf('w'));
    expect((await textOf(pieces)).length).toBeGreaterThan(20 * MIB);
  });
});

import type { AuditFilter, AuditRepository } from '@libs/persistence';
import { AuditService } from './audit.service';

const AT = new Date('2026-01-02T03:04:05Z');

describe(AuditService.name, () => {
  const asked: unknown[][] = [];
  const findEntries = async (organizationId: string, filter: AuditFilter, limit: number): Promise<object[]> => {
    asked.push([organizationId, filter.cursor, limit]);
    const ids = ['3', '2', '1'].filter((id) => filter.cursor === undefined || id < filter.cursor).slice(0, limit);
    return ids.map((id) => ({
      id,
      at: AT,
      organizationId,
      keyId: null,
      operator: 'ada',
      action: 'sluice credits add',
      target: 'x',
      requestId: 'r',
      status: 200,
    }));
  };
  const service = new AuditService({ findEntries } as unknown as AuditRepository);
  const caller = { organizationId: 'own' };

  it('leads from page to page with a cursor', async () => {
    const first = await service.list(caller, { limit: '2' });
    expect(first.data.map(({ id }) => id)).toEqual(['3', '2']);
    expect(first.next_cursor).toBe('2');
    const last = await service.list(caller, { limit: '2', cursor: '2' });
    expect(last).toEqual({
      data: [
        {
          id: '1',
          at: '2026-01-02T03:04:05.000Z',
          key_id: null,
          operator: 'ada',
          action: 'sluice credits add',
          target: 'x',
          request_id: 'r',
          status: 200,
        },
      ],
      next_cursor: null,
    });
    await service.list(caller, {});
    expect(asked.at(-1)).toEqual(['own', undefined, 51]);
  });
});

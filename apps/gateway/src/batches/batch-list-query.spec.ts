import { readBatchListQuery } from './batch-list-query';

describe(readBatchListQuery.name, () => {
  it('asks for the twenty newest when nothing is said', () => {
    expect(readBatchListQuery({ unknown: 'x' })).toEqual({
      limit: 20,
      after: null,
      statuses: null,
      createdAfter: null,
      createdBefore: null,
    });
  });

  it.each([
    ['seconds', '1700000000', '2023-11-14T22:13:20.000Z'],
    ['a date', '2026-02-28', '2026-02-28T00:00:00Z'],
    ['a time without an offset', '2026-02-28T10:11', '2026-02-28T10:11:00Z'],
    ['a time to the microsecond', '2026-02-28T10:11:12.123456+02:00', '2026-02-28T08:11:12.123456Z'],
    ['an offset that PostgreSQL has no word for', '2026-01-01T00:00:00.5+23:00', '2025-12-31T01:00:00.5Z'],
  ])('takes %s', (_case, text, read) => {
    expect(readBatchListQuery({ created_after: text }).createdAfter).toBe(read);
  });

  it('takes several statuses', () => {
    expect(readBatchListQuery({ status: ['failed', 'expired'] }).statuses).toEqual(['failed', 'expired']);
    expect(readBatchListQuery({ status: 'completed' }).statuses).toEqual(['completed']);
  });

  it('takes bounds that are a microsecond apart', () => {
    const bounds = { created_after: '2026-01-01T00:00:00.000001Z', created_before: '2026-01-01T00:00:00.000002Z' };
    expect(readBatchListQuery(bounds).createdBefore).toBe('2026-01-01T00:00:00.000002Z');
  });

  it.each([
    ['limit', { limit: '0' }],
    ['limit', { limit: '101' }],
    ['limit', { limit: '1e1' }],
    ['limit', { limit: ['1', '2'] }],
    ['status', { status: 'finalizing' }],
    ['status', { status: 'cancelling' }],
    ['status', { status: ['completed', 'receiving'] }],
    ['after', { after: '' }],
    ['after', { after: ['a', 'b'] }],
    ['created_after', { created_after: '2026-02-30' }],
    ['created_after', { created_after: 'yesterday' }],
    ['created_after', { created_after: '-5' }],
    ['created_after', { created_after: '0000-01-01' }],
    ['created_before', { created_before: '9999-12-31T24:00:00Z' }],
    ['created_before', { created_before: '2026-01-01T25:00:00Z' }],
    ['created_before', { created_before: '99999999999999' }],
    ['created_after', { created_after: '2026-01-01', created_before: '2026-01-01T00:00:00Z' }],
    ['created_after', { created_after: '1700000001', created_before: '1700000000' }],
  ])('refuses and names a wrong %s: %j', (param, query) => {
    expect(() => readBatchListQuery(query)).toThrow(
      expect.objectContaining({ code: 'invalid_request', metadata: { param } }),
    );
  });
});

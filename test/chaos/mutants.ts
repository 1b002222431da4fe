/** A defect put in on purpose, and the test that must turn red for it: a test that passes with it is worth nothing. */
export interface Mutant {
  readonly name: string;
  readonly defect: string;
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  readonly project: 'unit' | 'integration';
  /** Part of the path of the test file. */
  readonly spec: string;
}

export const mutants: readonly Mutant[] = [
  {
    name: 'M-a',
    defect: 'results count as stored although their commit failed',
    file: 'apps/batch-worker/src/batches/result-writer.ts',
    find: 'this.options.onFailure(error);',
    replace: 'this.options.onFailure(error); return { stored: 0, batchesWithDoneSegments: [] };',
    project: 'unit',
    spec: 'apps/batch-worker/src/batches/result-writer',
  },
  {
    name: 'M-d',
    defect: 'a message that no queue takes counts as sent',
    file: 'libs/platform/src/messaging/confirming-publisher.ts',
    find: 'mandatory: true,',
    replace: 'mandatory: false,',
    project: 'integration',
    spec: 'libs/platform/src/messaging/confirming-publisher',
  },
  {
    name: 'M-e',
    defect: 'results are taken without looking at the fence',
    file: 'libs/persistence/src/batches/batch-results.repository.ts',
    find: 'AND held.segment = s.number AND held.fence = s.fence',
    replace: 'AND held.segment = s.number',
    project: 'integration',
    spec: 'libs/persistence/src/batches/batch-results',
  },
  {
    name: 'M-f',
    defect: 'a lease is not counted when it is taken',
    file: 'libs/persistence/src/batches/batch-segments.repository.ts',
    find: 'attempts = s.attempts + 1',
    replace: 'attempts = s.attempts',
    project: 'integration',
    spec: 'libs/persistence/src/batches/batch-results',
  },
  {
    name: 'M-g',
    defect: 'a hold is opened without looking at the balance',
    file: 'libs/persistence/src/ledger/ledger.repository.ts',
    find: 'WHERE id = $2 AND balance_usd - held_usd >= $3::numeric\n          RETURNING id',
    replace: 'WHERE id = $2\n          RETURNING id',
    project: 'integration',
    spec: 'libs/persistence/src/ledger/ledger.int',
  },
  {
    name: 'M-h',
    defect: 'a look at a batch charges for it',
    file: 'libs/persistence/src/batches/batch-views.repository.ts',
    find: '    return row === null ? null : toBatchView(row);\n  }\n\n  /**\n   * Up to `limit` batches',
    replace:
      "    await this.database.execute({ sql: 'UPDATE ledger_accounts SET balance_usd = balance_usd - 0.01' });\n" +
      '    return row === null ? null : toBatchView(row);\n  }\n\n  /**\n   * Up to `limit` batches',
    project: 'integration',
    spec: 'libs/persistence/src/batches/batch-endings',
  },
  {
    name: 'M-t',
    defect: 'nobody listens to a connection between the pool and its first query',
    file: 'libs/persistence/src/data-source.ts',
    find: '      onConnect: survive,\n',
    replace: '',
    project: 'integration',
    spec: 'libs/persistence/src/data-source',
  },
  {
    name: 'stop-1',
    defect: 'segments of a stopping batch are still handed out',
    file: 'libs/persistence/src/batches/batch-segments.repository.ts',
    find: "AND b.status = 'in_progress' AND b.stop_by IS NULL",
    replace: '',
    project: 'integration',
    spec: 'libs/persistence/src/batches/batch-endings',
  },
  {
    name: 'stop-2',
    defect: 'the segments of an ended batch stay, so whoever wakes later writes for it',
    file: 'libs/persistence/src/batches/batch-endings.repository.ts',
    find: "sql: 'DELETE FROM batch_segments WHERE batch_number = $1',",
    replace: "sql: 'DELETE FROM batch_segments WHERE batch_number = $1 AND false',",
    project: 'integration',
    spec: 'libs/persistence/src/batches/batch-endings',
  },
  {
    name: 'stop-3',
    defect: 'the hold of a batch that was stopped stays open',
    file: 'libs/persistence/src/batches/batch-endings.repository.ts',
    find: '      await this.ledger.resolveHold(session, row.id);\n',
    replace: '',
    project: 'integration',
    spec: 'libs/persistence/src/batches/batch-endings',
  },
  {
    name: 'stop-4',
    defect: 'a validator that wakes late opens a batch that was stopped',
    file: 'libs/persistence/src/batches/batch-endings.repository.ts',
    find: "status = 'cancelling', ends_as = 'cancelled', lease_until = NULL, fence = fence + 1,",
    replace: "ends_as = 'cancelled', lease_until = NULL,",
    project: 'integration',
    spec: 'libs/persistence/src/batches/batch-endings',
  },
];

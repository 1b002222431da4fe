import { AuditRepository, type BegunAuditEntry, type NewAuditEntry } from '@libs/persistence';
import { RefusedCalls } from './refused-calls';

class RecordedTrail implements Pick<AuditRepository, 'beginEntry' | 'endEntry'> {
  readonly begun: NewAuditEntry[] = [];
  readonly ended: number[] = [];

  async beginEntry(entry: NewAuditEntry): Promise<BegunAuditEntry> {
    this.begun.push(entry);
    return { organizationId: entry.organizationId, id: String(this.begun.length) };
  }

  async endEntry(_entry: BegunAuditEntry, status: number): Promise<void> {
    this.ended.push(status);
  }
}

const entryOf = (organizationId: string): NewAuditEntry => ({
  organizationId,
  keyId: 'key',
  action: 'GET /api/v1/keys',
  target: null,
  requestId: 'r',
});

describe(RefusedCalls.name, () => {
  let trail: RecordedTrail;
  let refused: RefusedCalls;

  beforeEach(() => {
    trail = new RecordedTrail();
    refused = new RefusedCalls(trail as unknown as AuditRepository);
  });

  it('writes a refused call with its status', async () => {
    refused.note(entryOf('a'), 403, 0);
    await new Promise(setImmediate);
    expect([trail.begun, trail.ended]).toEqual([[entryOf('a')], [403]]);
  });

  it('writes the status that it is given', async () => {
    refused.note(entryOf('a'), 413, 0);
    await new Promise(setImmediate);
    expect(trail.ended).toEqual([413]);
  });

  it('writes at most 30 a minute for one organization, and 300 for all', () => {
    for (let call = 0; call < 1_000; call += 1) refused.note(entryOf('a'), 403, call);
    expect(trail.begun).toHaveLength(30);
    for (let call = 0; call < 270; call += 1) refused.note(entryOf(`of ${call}`), 403, 59_999);
    expect(trail.begun).toHaveLength(300);
    refused.note(entryOf('b'), 403, 59_999);
    expect(trail.begun).toHaveLength(300);
  });

  const counts = (): string[] => trail.begun.map(({ action }) => action).filter((action) => !action.startsWith('GET'));

  it('writes in the next minute how many it left out, once for each organization', async () => {
    for (let call = 0; call < 35; call += 1) refused.note(entryOf('a'), 403, call);
    for (let call = 0; call < 30; call += 1) refused.note(entryOf('b'), 403, call);
    expect(counts()).toEqual([]);
    refused.note(entryOf('a'), 403, 60_000);
    await new Promise(setImmediate);
    expect(counts()).toEqual(['refused calls left out: 5']);
    expect(trail.begun.at(-2)).toMatchObject({ organizationId: 'a', keyId: 'key', target: null });
    refused.note(entryOf('a'), 403, 120_000);
    expect(counts()).toHaveLength(1);
  });

  it('writes it at the end of the minute where nothing more is refused, and when the process stops', async () => {
    jest.useFakeTimers();
    try {
      for (let call = 0; call < 32; call += 1) refused.note(entryOf('a'), 403, 30_000);
      jest.advanceTimersByTime(30_000);
    } finally {
      jest.useRealTimers();
    }
    expect(counts()).toEqual(['refused calls left out: 2']);
    for (let call = 0; call < 31; call += 1) refused.note(entryOf('a'), 403, 61_000);
    await refused.beforeApplicationShutdown();
    expect(counts()).toEqual(['refused calls left out: 2', 'refused calls left out: 1']);
  });

  it('counts a bounded number of organizations', async () => {
    for (let call = 0; call < 5_000; call += 1) refused.note(entryOf(`of ${call}`), 403, 0);
    await refused.beforeApplicationShutdown();
    // 300 entries, and the counts of the 700 others that are counted.
    expect(trail.begun).toHaveLength(1_000);
  });
});

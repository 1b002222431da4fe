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
    refused.note(entryOf('a'), 0);
    await new Promise(setImmediate);
    expect([trail.begun, trail.ended]).toEqual([[entryOf('a')], [403]]);
  });

  it('writes at most 30 a minute for one organization, and 300 for all', () => {
    for (let call = 0; call < 1_000; call += 1) refused.note(entryOf('a'), call);
    expect(trail.begun).toHaveLength(30);
    for (let call = 0; call < 1_000; call += 1) refused.note(entryOf(`of ${call}`), 59_999);
    expect(trail.begun).toHaveLength(300);
    refused.note(entryOf('a'), 60_000);
    expect(trail.begun).toHaveLength(301);
  });
});

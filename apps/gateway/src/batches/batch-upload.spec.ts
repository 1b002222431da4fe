import type { BatchIntakeRepository, Session } from '@libs/persistence';
import { IntakeTurns } from '../submissions/intake-turns';
import { BatchUpload, MAX_BATCH_BYTES } from './batch-upload';

const KEY = { id: 'batch-1', number: 1n, createdOn: '2026-11-22' };
const OWNER = { organizationId: 'o', workspaceId: 'w', apiKeyHash: 'a'.repeat(64) };
const MEBIBYTE = 1024 * 1024;

/** Where slices go. */
class FakeIntake {
  readonly sliceBytes: number[] = [];
  segments = 0;
  discarded = 0;

  async slice(work: (session: Session) => Promise<unknown>): Promise<unknown> {
    return work({} as Session);
  }

  readonly leases: { readonly leaseMs: number; readonly isBegun: boolean }[] = [];

  async keepReceiving(
    _session: Session,
    _key: unknown,
    _owner: unknown,
    lease: { readonly leaseMs: number; readonly isBegun: boolean },
  ): Promise<string> {
    this.leases.push(lease);
    return 'batch_lines_of_the_week';
  }

  async copyLines(_session: Session, _partition: string, lines: Buffer): Promise<void> {
    this.sliceBytes.push(lines.length);
  }

  async addSegments(_session: Session, _key: unknown, segments: readonly unknown[]): Promise<void> {
    this.segments += segments.length;
  }

  async discard(): Promise<void> {
    this.discarded += 1;
  }
}

function uploadInto(intake: FakeIntake, nowMs?: () => number): BatchUpload {
  return new BatchUpload(
    KEY,
    OWNER,
    intake as unknown as BatchIntakeRepository,
    null,
    new IntakeTurns(),
    undefined,
    nowMs,
  );
}

const line = (customId: string): string =>
  JSON.stringify({ custom_id: customId, body: { messages: [{ role: 'user', content: 'x' }] } });
const header = '"endpoint":"/v1/chat/completions","model":"acme/large"';

describe(BatchUpload.name, () => {
  it.each([
    ['before', `{${header},"requests":[${line('a')},${line('b')}]}`],
    ['behind', `{"requests":[${line('a')},${line('b')}],${header}}`],
    ['around', `{"model":"acme/large","requests":[${line('a')},${line('b')}],"endpoint":"/v1/chat/completions"}`],
  ])('takes the other members %s the requests, in pieces of any size', async (_where, text) => {
    for (const size of [1, 7, 1_000]) {
      const upload = uploadInto(new FakeIntake());
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += size) await upload.write(bytes.subarray(at, at + size));
      expect(upload.finish()).toMatchObject({ endpoint: '/v1/chat/completions', model: 'acme/large' });
      expect(upload.lineCount).toBe(2);
    }
  });

  it('is refused with the first byte beyond its limit, holds one slice at a time, and leaves nothing', async () => {
    const intake = new FakeIntake();
    const upload = uploadInto(intake);
    await upload.write(Buffer.from(`{${header},"requests":[${line('first')}`));
    const body = `"body":${JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(4 * MEBIBYTE) }] })}`;
    let bytes = 0;
    const sending = async (): Promise<void> => {
      for (let index = 0; ; index += 1) {
        const chunk = Buffer.from(`,{"custom_id":"line-${index}",${body}}`);
        bytes += chunk.length;
        await upload.write(chunk);
      }
    };
    await expect(sending()).rejects.toMatchObject({ status: 413 });
    expect(bytes).toBeGreaterThan(MAX_BATCH_BYTES - MEBIBYTE);
    expect(bytes).toBeLessThan(MAX_BATCH_BYTES + 5 * MEBIBYTE);
    expect(intake.sliceBytes.length).toBeGreaterThan(15);
    expect(Math.max(...intake.sliceBytes)).toBeLessThan(13 * MEBIBYTE);
    await upload.discard();
    expect(intake.discarded).toBe(1);
  }, 30_000);

  it('names the first custom_id that an API of few characters would refuse', async () => {
    const upload = uploadInto(new FakeIntake());
    const ids = ['plain_ID-1', '__proto__', 'with space', 'x'.repeat(65)];
    await upload.write(Buffer.from(`{${header},"requests":[${ids.map((id) => line(id)).join(',')}]}`));
    upload.finish();
    expect(() => upload.requirePlainIds()).toThrow('requests[2].custom_id must be 1 to 64 letters');
    const plain = uploadInto(new FakeIntake());
    await plain.write(Buffer.from(`{${header},"requests":[${line('x'.repeat(64))}]}`));
    plain.requirePlainIds();
  });

  it('keeps what is stored of it alive, however slowly the rest arrives', async () => {
    const intake = new FakeIntake();
    let nowMs = 0;
    const upload = uploadInto(intake, () => nowMs);
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(4 * MEBIBYTE) }] });
    const large = (id: string): string => `{"custom_id":"${id}","body":${body}}`;
    await upload.write(Buffer.from(`{${header},"requests":[${large('a')},${large('b')}`));
    expect(intake.leases).toEqual([expect.objectContaining({ isBegun: false })]);
    for (let index = 0; index < 100; index += 1) {
      nowMs += 10_000;
      await upload.write(Buffer.from(`,${line(`slow-${index}`)}`));
    }
    expect(intake.leases.length).toBeGreaterThan(20);
    expect(intake.leases.slice(1).every(({ isBegun }) => isBegun)).toBe(true);
    await upload.write(Buffer.from(']}'));
    upload.finish();
  });
});

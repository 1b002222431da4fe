import { IsString } from 'class-validator';
import { job, queues, type JobContract } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { JobSender } from './job-sender';
import { OutboxRelay } from './outbox-relay';
import { OutboxSource, type OutboxDelay, type OutboxMessage, type OutboxState } from './outbox-source';
import { captureLog } from '../testing/captured-log';

class RunBatch {
  @IsString()
  batchId: string;
}

const contract = job({ queue: queues.batches, name: 'batches.run', payload: RunBatch });

class FakeOutbox extends OutboxSource {
  pending: OutboxMessage[] = [];
  failure: Error | undefined;
  passes = 0;
  readonly leased = new Set<string>();
  readonly delays = new Map<string, OutboxDelay>();
  #onPass: (() => void) | undefined;

  override async claim(limit: number): Promise<readonly OutboxMessage[]> {
    this.passes += 1;
    this.#changed();
    if (this.failure) throw this.failure;
    const due = this.pending.filter(({ id }) => !this.leased.has(id)).slice(0, limit);
    for (const { id } of due) this.leased.add(id);
    return due;
  }

  override async forget(ids: readonly string[]): Promise<void> {
    if (this.failure) throw this.failure;
    this.pending = this.pending.filter(({ id }) => !ids.includes(id));
    this.#changed();
  }

  /** What waits longer than a moment waits for the end of the test. */
  override async postpone(delays: readonly OutboxDelay[]): Promise<void> {
    for (const delay of delays) {
      this.delays.set(delay.id, delay);
      if (delay.delayMs <= 1_000) this.leased.delete(delay.id);
    }
    this.#changed();
  }

  override async measure(): Promise<OutboxState> {
    return { oldestSeconds: 0, stuck: 0 };
  }

  #changed(): void {
    setImmediate(() => this.#onPass?.());
  }

  /** Resolves when the relay has ended a pass after which `isSo` holds. */
  async until(isSo: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onPass = () => isSo() && resolve();
      this.#onPass();
    });
  }

  fill(count: number, name = contract.name): void {
    const first = this.pending.length;
    for (let index = first; index < first + count; index += 1) {
      this.pending.push({ id: `${name}-${index}`, contract: name, payload: { batchId: String(index) }, attempts: 0 });
    }
  }
}

class FakeSender implements JobSender {
  readonly sent: string[] = [];
  refuse: (id: string) => boolean = () => false;

  async send<P extends object>(_: JobContract<P>, __: P, messageId = ''): Promise<void> {
    if (this.refuse(messageId)) throw new AppError('server', 'Internal error');
    this.sent.push(messageId);
  }
}

describe(OutboxRelay.name, () => {
  let outbox: FakeOutbox;
  let sender: FakeSender;
  let relay: OutboxRelay;
  let errors: string[];

  beforeEach(() => {
    errors = captureLog('error');
    outbox = new FakeOutbox();
    sender = new FakeSender();
    relay = new OutboxRelay(outbox, sender, [contract]);
  });

  afterEach(() => relay.stop());

  it('sends what is pending when it starts, in batches, without waiting between them', async () => {
    outbox.fill(1_200);
    relay.start();
    await outbox.until(() => outbox.pending.length === 0);
    expect(sender.sent).toHaveLength(1_200);
    expect(outbox.passes).toBe(3);
  });

  it('looks at once when it is woken', async () => {
    relay.start();
    await outbox.until(() => outbox.passes === 1);
    outbox.fill(1);
    const wokenAt = performance.now();
    relay.wake();
    await outbox.until(() => outbox.pending.length === 0);
    expect(performance.now() - wokenAt).toBeLessThan(900);
  });

  it('does not miss being woken while a pass is in progress', async () => {
    outbox.fill(1);
    sender.refuse = () => {
      sender.refuse = () => false;
      outbox.fill(1);
      relay.wake();
      return false;
    };
    const startedAt = performance.now();
    relay.start();
    await outbox.until(() => sender.sent.length === 2);
    expect(performance.now() - startedAt).toBeLessThan(900);
  });

  it('looks by itself every second', async () => {
    relay.start();
    await outbox.until(() => outbox.passes === 1);
    outbox.fill(1);
    await outbox.until(() => outbox.pending.length === 0);
    expect(sender.sent).toHaveLength(1);
  });

  it('keeps exactly the messages that were not confirmed and sends them in a later pass', async () => {
    outbox.fill(3);
    sender.refuse = (id) => id === 'outbox-batches.run-1';
    relay.start();
    await outbox.until(() => outbox.delays.size === 1);
    expect(outbox.pending.map(({ id }) => id)).toEqual(['batches.run-1']);
    expect(outbox.delays.get('batches.run-1')).toMatchObject({ isAttempt: true });
    sender.refuse = () => false;
    await outbox.until(() => outbox.pending.length === 0);
    expect(sender.sent).toContain('outbox-batches.run-1');
  });

  it('survives a failing database, and being woken meanwhile does not make it hurry', async () => {
    outbox.failure = new Error('the connection is gone');
    relay.start();
    await outbox.until(() => outbox.passes === 1);
    for (let wakes = 0; wakes < 100; wakes += 1) relay.wake();
    await new Promise(setImmediate);
    expect(outbox.passes).toBe(1);
    outbox.failure = undefined;
    outbox.fill(1);
    await outbox.until(() => outbox.pending.length === 0);
    expect(sender.sent).toHaveLength(1);
  });

  it('leaves a message that can never be sent, says so, and does not let it hold up the others', async () => {
    outbox.fill(1, 'no.such-job');
    outbox.pending.push({ id: 'large', contract: contract.name, payload: { batchId: 'b'.repeat(5_000) }, attempts: 0 });
    outbox.fill(1);
    relay.start();
    await outbox.until(() => outbox.delays.size === 2);
    expect(sender.sent).toHaveLength(1);
    expect(outbox.pending.map(({ id }) => id)).toEqual(['no.such-job-0', 'large']);
    expect(errors).toHaveLength(2);
    expect(errors.join()).toContain('no.such-job-0');
    expect(errors.join()).toContain('large');
    expect(errors.join()).not.toContain('bbb');
  });

  it('stops only after the pass in progress has ended', async () => {
    const confirm = Promise.withResolvers<void>();
    outbox.fill(1);
    sender.send = async () => confirm.promise;
    relay.start();
    const stopped = relay.stop();
    confirm.resolve();
    await stopped;
    expect(outbox.pending).toEqual([]);
    const { passes } = outbox;
    relay.wake();
    await new Promise(setImmediate);
    expect(outbox.passes).toBe(passes);
  });
});

import { AppError } from '@libs/errors';
import { upstreamError, type Provider } from '@libs/inference';
import type { NativeBatch, NativeBatchesRepository } from '@libs/persistence';
import type { Reach } from './native-reach';
import { NativeSubmissionService } from './native-submission.service';

const ORDER = { reference: 'nb1', state: 'uploaded', inputFileId: 'file-1' } as unknown as NativeBatch;
const PROVIDER = { slug: 'acme', name: 'Acme' } as Provider;

/** What is written of an order, in its order. */
class FakeOrders {
  readonly written: string[] = [];
  readonly submitting = this.#writes('submitting');
  readonly running = this.#writes('runs');
  readonly rest = this.#writes('rests');
  readonly wait = this.#writes('waits');
  readonly notArrived = this.#writes('not arrived');
  readonly looked = this.#writes('looked');
  readonly notSubmitted = this.#writes('not submitted');

  async takenFor(): Promise<ReadonlySet<string>> {
    return new Set();
  }

  #writes(word: string): () => Promise<boolean> {
    return async () => {
      this.written.push(word);
      return true;
    };
  }
}

function reachOf(refusal: AppError): Reach {
  const batches = { upload: async () => 'file-1', create: () => Promise.reject(refusal) };
  return { lane: { batches, upstreamApi: 'chat' }, access: {} } as unknown as Reach;
}

async function writtenAfter(refusal: AppError): Promise<readonly string[]> {
  const orders = new FakeOrders();
  const unused = null as never;
  const service = new NativeSubmissionService(orders as unknown as NativeBatchesRepository, unused, unused);
  await expect(service.submit(ORDER, reachOf(refusal))).rejects.toBe(refusal);
  return orders.written;
}

const answered = (status: number): AppError => upstreamError(PROVIDER, status, {}, Buffer.alloc(0));

describe(NativeSubmissionService.name, () => {
  it.each([400, 401, 403, 404, 413, 422, 429])(
    'knows that a provider which answered %i has no such order, so that its lines are soon run elsewhere',
    async (status) => {
      expect(await writtenAfter(answered(status))).toEqual(['submitting', 'not submitted']);
    },
  );

  it.each([408, 409, 500, 502, 503, 529])('leaves open what a provider did that answered %i', async (status) => {
    expect(await writtenAfter(answered(status))).toEqual(['submitting']);
  });

  it('orders from a file only after its provider has read it', async () => {
    const orderedWhere = async (isReady: boolean): Promise<readonly string[]> => {
      const orders = new FakeOrders();
      const unused = null as never;
      const service = new NativeSubmissionService(orders as unknown as NativeBatchesRepository, unused, unused);
      const batches = {
        upload: async () => 'file-1',
        isReady: async () => isReady,
        create: async () => ({ id: 'job' }),
      };
      await service.submit(ORDER, { lane: { batches, upstreamApi: 'chat' }, access: {} } as unknown as Reach);
      return orders.written;
    };
    expect(await orderedWhere(false)).toEqual(['rests']);
    expect(await orderedWhere(true)).toEqual(['submitting', 'runs', 'rests']);
  });

  it('has one order next while another is sent, and gives further ones back', async () => {
    const orders = new FakeOrders();
    const unused = null as never;
    const service = new NativeSubmissionService(orders as unknown as NativeBatchesRepository, unused, unused);
    let taken!: (job: object) => void;
    const batches = { upload: async () => 'file-1', create: () => new Promise((resolve) => (taken = resolve)) };
    const reach = { lane: { batches, upstreamApi: 'chat' }, access: {} } as unknown as Reach;
    const settled = new Promise(setImmediate);
    const [first, next] = [service.submit(ORDER, reach), service.submit(ORDER, reach)];
    await service.submit(ORDER, reach);
    await settled;
    expect(orders.written).toEqual(['waits', 'submitting']);
    taken({ id: 'job' });
    await first;
    await new Promise(setImmediate);
    expect(orders.written).toEqual(['waits', 'submitting', 'runs', 'rests', 'submitting']);
    taken({ id: 'job' });
    await next;
    await service.submit(ORDER, { ...reach, lane: { batches: { ...batches, create: async () => ({}) } } } as never);
    expect(orders.written.slice(5)).toEqual(['runs', 'rests', 'submitting', 'runs', 'rests']);
  });

  it('leaves open what became of an order whose connection broke', async () => {
    expect(await writtenAfter(new AppError('provider_unavailable', 'gone'))).toEqual(['submitting']);
  });

  it('takes an order for not arrived, and counts that, only after four vain searches and 150 seconds', async () => {
    const lookedFor = async (looks: number, ageMs: number): Promise<readonly string[]> => {
      const orders = new FakeOrders();
      const unused = null as never;
      const service = new NativeSubmissionService(orders as unknown as NativeBatchesRepository, unused, unused);
      const order = { ...ORDER, state: 'submitting', looks, ageMs, notOurs: [] } as unknown as NativeBatch;
      await service.lookFor(order, { lane: { batches: { find: async () => [] } }, access: {} } as unknown as Reach);
      return orders.written;
    };
    expect(await lookedFor(2, 200_000)).toEqual(['looked']);
    expect(await lookedFor(3, 149_000)).toEqual(['looked']);
    expect(await lookedFor(3, 150_000)).toEqual(['not arrived']);
  });
});

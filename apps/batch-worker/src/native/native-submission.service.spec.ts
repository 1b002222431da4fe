import { AppError } from '@libs/errors';
import { upstreamError, type Provider } from '@libs/inference';
import { aModel, anEndpoint } from '@libs/inference/testing';
import type {
  BatchResultsRepository,
  LineOutcome,
  NativeBatch,
  NativeBatchesRepository,
  NativeSegmentsRepository,
} from '@libs/persistence';
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
  readonly pin = this.#writes('pinned');
  readonly uploaded = this.#writes('uploaded');
  readonly notUploaded = this.#writes('not uploaded');

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
  await expect(service.submit(ORDER, reachOf(refusal), [])).rejects.toBe(refusal);
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
      await service.submit(ORDER, { lane: { batches, upstreamApi: 'chat' }, access: {} } as unknown as Reach, []);
      return orders.written;
    };
    expect(await orderedWhere(false)).toEqual(['rests']);
    expect(await orderedWhere(true)).toEqual(['submitting', 'runs', 'rests']);
  });

  it('records an upload before it begins, and that it is over only if the provider answered', async () => {
    const writtenWhere = async (upload: (() => Promise<string>) | undefined): Promise<readonly string[]> => {
      const orders = new FakeOrders();
      const segments = { held: async () => [{}], unfinishedLines: async () => [{ seq: 0, body: Buffer.from('{}') }] };
      const service = new NativeSubmissionService(
        orders as unknown as NativeBatchesRepository,
        segments as unknown as NativeSegmentsRepository,
        null as never,
      );
      const began = upload && (() => (orders.written.push('sent'), upload()));
      const batches = { upload: began, create: async () => ({ id: 'job' }) };
      const lane = { batches, upstreamApi: 'chat', write: () => Buffer.from('{}') };
      const reach = { lane, candidate: { model: aModel(), endpoint: anEndpoint() }, access: {} } as unknown as Reach;
      const planned = {
        ...ORDER,
        state: 'planned',
        inputFileId: null,
        batchId: 'batch-1763806272-0123456789ABCDEFGHIJ',
      };
      await service.submit(planned as NativeBatch, reach, []).catch(() => orders.written.push('failed'));
      return orders.written;
    };
    const sent = ['pinned', 'sent'];
    const created = ['submitting', 'runs', 'rests'];
    expect(await writtenWhere(async () => 'file-1')).toEqual([...sent, 'uploaded', ...created]);
    expect(await writtenWhere(() => Promise.reject(answered(413)))).toEqual([...sent, 'not uploaded', 'failed']);
    expect(await writtenWhere(() => Promise.reject(answered(503)))).toEqual([...sent, 'failed']);
    expect(await writtenWhere(() => Promise.reject(new Error('reset')))).toEqual([...sent, 'failed']);
    expect(await writtenWhere(undefined)).toEqual(['pinned', 'uploaded', ...created]);
  });

  describe('while a provider answers nothing', () => {
    const send = async (before: readonly object[], order: object): Promise<readonly string[]> => {
      const orders = new FakeOrders();
      const unused = null as never;
      const service = new NativeSubmissionService(orders as unknown as NativeBatchesRepository, unused, unused);
      const isAnswered = Promise.withResolvers<object>();
      const reachOf = (create: () => Promise<object>): Reach =>
        ({ lane: { batches: { upload: async () => 'file-1', create }, upstreamApi: 'chat' } }) as unknown as Reach;
      const hung = before.map((one) =>
        service.submit(
          { ...ORDER, ...one },
          reachOf(() => isAnswered.promise),
          [],
        ),
      );
      await new Promise(setImmediate);
      const begun = orders.written.length;
      await service.submit(
        { ...ORDER, ...order },
        reachOf(async () => ({ id: 'job' })),
        [],
      );
      const written = orders.written.slice(begun);
      isAnswered.resolve({ id: 'late' });
      await Promise.all(hung);
      return written;
    };
    const SENT = ['submitting', 'runs', 'rests'];

    it('gives back a further order of the same organization, whose lines would be in memory too', async () => {
      const order = { provider: 'hung', organizationId: 'one' };
      expect(await send([order], order)).toEqual(['waits']);
      expect(await send([], order)).toEqual(SENT);
    });

    it('sends the order of another organization there, and one order to another provider', async () => {
      const [one, two, three] = ['one', 'two', 'three'].map((organizationId) => ({ provider: 'hung', organizationId }));
      expect(await send([one!], two!)).toEqual(SENT);
      expect(await send([one!, two!], three!)).toEqual(['waits']);
      expect(await send([one!, two!, three!], { provider: 'healthy', organizationId: 'one' })).toEqual(SENT);
    });
  });

  it('waits for the answer to an order of a file as for one to a question, and to lines for longer', async () => {
    const accessesOf = async (order: NativeBatch, upload?: () => Promise<string>): Promise<readonly unknown[]> => {
      const used: unknown[] = [];
      const batches = {
        upload,
        create: async (_order: object, access: unknown) => {
          used.push(access);
          return { id: 'job' };
        },
      };
      const segments = { held: async () => [{}], unfinishedLines: async () => [{ seq: 0, body: Buffer.from('{}') }] };
      const service = new NativeSubmissionService(
        new FakeOrders() as unknown as NativeBatchesRepository,
        segments as unknown as NativeSegmentsRepository,
        null as never,
      );
      const lane = { batches, upstreamApi: 'chat', write: () => Buffer.from('{}') };
      const candidate = { model: aModel(), endpoint: anEndpoint() };
      await service.submit(order, { lane, candidate, access: 'question', sending: 'lines' } as unknown as Reach, []);
      return used;
    };
    expect(await accessesOf(ORDER, async () => 'file-1')).toEqual(['question']);
    expect(await accessesOf({ ...ORDER, inputFileId: null })).toEqual(['lines']);
  });

  describe('where a policy forbids a tool', () => {
    const policies = [{ owner: 'key', ignoredTools: ['web_search'] }] as const;
    const order = { ...ORDER, inputFileId: null, batchId: 'batch-1763806272-0123456789ABCDEFGHIJ' };

    const withLines = (tools: readonly string[]) => {
      const bodies = tools.map((type) => Buffer.from(JSON.stringify({ tools: [{ type }] })));
      const sent: string[] = [];
      const stored: LineOutcome[] = [];
      const segments = {
        held: async () => [{}],
        unfinishedLines: async () => bodies.map((body, seq) => ({ seq, body })),
      };
      const results = {
        store: async (outcomes: readonly LineOutcome[]) => {
          stored.push(...outcomes);
          return outcomes.length;
        },
      };
      const service = new NativeSubmissionService(
        new FakeOrders() as unknown as NativeBatchesRepository,
        segments as unknown as NativeSegmentsRepository,
        results as unknown as BatchResultsRepository,
      );
      const lane = {
        batches: { create: async () => ({ id: 'job' }) },
        upstreamApi: 'chat',
        write: (customId: string) => {
          sent.push(customId);
          return Buffer.from('{}');
        },
      };
      const at = { lane, candidate: { model: aModel(), endpoint: anEndpoint() } } as unknown as Reach;
      return { service, at, sent, stored };
    };

    it('does not send a line that asks for it, and refuses it as a single call is', async () => {
      const { service, at, sent, stored } = withLines(['web_search', 'function']);
      expect(await service.submit(order, at, policies)).toBe(true);
      expect(sent).toEqual(['nb1-1']);
      expect(stored).toMatchObject([{ seq: 0, error: { error_type: 'permission_denied' } }]);
    });

    it('says so when no line is left', async () => {
      const { service, at, sent } = withLines(['web_search', 'web_search']);
      expect(await service.submit(order, at, policies)).toBe(false);
      expect(sent).toEqual([]);
    });

    it('finds a line that asks for it in a file that the provider has', async () => {
      const { service, at } = withLines(['function', 'web_search']);
      await expect(service.checkLines(order, at, policies)).rejects.toMatchObject({ code: 'permission_denied' });
      await service.checkLines(order, at, [{ owner: 'key', ignoredTools: ['mcp'] }]);
      await service.checkLines(order, at, []);
    });
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

import { AppError } from '@libs/errors';
import type { BatchLinesRepository, BatchView } from '@libs/persistence';
import type { BatchCaller, BatchIntakeService } from './batch-intake.service';
import { BatchRetryService } from './batch-retry.service';
import type { BatchesService } from './batches.service';

const BATCH = {
  status: 'failed',
  endpoint: '/v1/chat/completions',
  model: 'acme/large',
  completionWindow: '24h',
  provider: 'acme',
  callbackUrl: 'https://receiver.example/hook',
  total: 2,
  completed: 1,
} as BatchView;

async function submittedFor(batch: BatchView, looks: (() => BatchView)[] = []): Promise<unknown> {
  const chunks: Buffer[] = [];
  const intake = {
    receive: async (_owner: unknown, body: AsyncIterable<Buffer>) => {
      for await (const chunk of body) chunks.push(chunk);
    },
  };
  const lines = { unanswered: async () => [{ seq: 1, customId: 'one', body: Buffer.from('{"messages":[]}') }] };
  const retries = new BatchRetryService(
    { get: async () => looks.shift()?.() ?? batch } as unknown as BatchesService,
    lines as unknown as BatchLinesRepository,
    intake as unknown as BatchIntakeService,
  );
  await retries.retry('batch', {} as BatchCaller, null);
  return JSON.parse(Buffer.concat(chunks).toString());
}

describe(BatchRetryService.name, () => {
  it('submits what is open to the same provider, and has its end announced in the same place', async () => {
    expect(await submittedFor(BATCH)).toEqual({
      endpoint: '/v1/chat/completions',
      model: 'acme/large',
      completion_window: '24h',
      provider: { only: ['acme'] },
      callback_url: 'https://receiver.example/hook',
      requests: [{ custom_id: 'one', body: { messages: [] } }],
    });
  });

  it('names no place for a batch whose end was announced nowhere', async () => {
    expect(await submittedFor({ ...BATCH, callbackUrl: null })).not.toHaveProperty('callback_url');
  });

  it('is refused when the batch was removed while its lines were read', async () => {
    const batch = { ...BATCH, total: 3 };
    const removed = (): BatchView => {
      throw new AppError('not_found', 'Batch not found');
    };
    await expect(submittedFor(batch, [() => batch, removed])).rejects.toMatchObject({ code: 'not_found' });
  });

  it('submits what is there of a batch that lost lines', async () => {
    expect(await submittedFor({ ...BATCH, total: 3 })).toMatchObject({ requests: [{ custom_id: 'one' }] });
  });
});

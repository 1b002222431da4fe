import { Logger } from '@nestjs/common';
import type { BatchesRepository, BatchWork } from '@libs/persistence';
import type { NativeChoiceService } from '../native/native-choice.service';
import { BatchValidationService } from './batch-validation.service';

/** One batch that waits for validation, and what became of it. */
class OneBatch {
  failure: string | null = null;
  hasBegun = false;

  constructor(
    readonly work: BatchWork,
    readonly bodies: readonly object[],
  ) {}

  async claimValidation(): Promise<BatchWork> {
    return this.work;
  }

  async linesAfter(_work: BatchWork, afterSeq: number) {
    const lines = this.bodies.map((body, seq) => ({
      seq,
      customId: `c${seq}`,
      body: Buffer.from(JSON.stringify(body)),
    }));
    return lines.slice(afterSeq + 1);
  }

  async beginProgress(): Promise<boolean> {
    this.hasBegun = true;
    return true;
  }

  async failValidation(_work: BatchWork, problem: string): Promise<boolean> {
    this.failure = problem;
    return true;
  }
}

async function validated(endpoint: string, ...bodies: object[]): Promise<OneBatch> {
  const work = {
    id: 'batch-1-a',
    number: 1n,
    createdOn: '2026-11-21',
    endpoint,
    model: 'acme/large',
    provider: 'acme',
    total: bodies.length,
    fence: 1n,
  };
  const batch = new OneBatch(work, bodies);
  const choice = { assign: () => Promise.resolve() } as unknown as NativeChoiceService;
  await new BatchValidationService(batch as unknown as BatchesRepository, choice).validateIfDue(work.id);
  return batch;
}

const MESSAGES = [{ role: 'user', content: 'Hello!' }];

describe(BatchValidationService.name, () => {
  beforeAll(() => Logger.overrideLogger(false));

  it.each([
    ['/v1/chat/completions', { messages: MESSAGES }],
    ['/v1/responses', { input: 'Hello!' }],
    ['/v1/messages', { messages: MESSAGES, max_tokens: 5 }],
    ['/v1/embeddings', { input: 'Hello!' }],
  ])('begins a batch of %s whose lines fit, with and without their model', async (endpoint, body) => {
    const batch = await validated(endpoint, body, { ...body, model: 'acme/large' }, { ...body, model: null });
    expect(batch).toMatchObject({ failure: null, hasBegun: true });
  });

  it.each([
    ['/v1/chat/completions', { messages: [] }, 'messages'],
    ['/v1/responses', { messages: MESSAGES }, 'input'],
    ['/v1/responses', { input: 'Hello!', store: true }, 'store'],
    ['/v1/messages', { messages: MESSAGES, max_tokens: 0 }, 'max_tokens'],
    ['/v1/embeddings', { input: '' }, 'input'],
  ])('fails a batch of %s for the first line that does not fit: %j', async (endpoint, body, named) => {
    const fit = { messages: MESSAGES, input: 'Hello!', max_tokens: 5 };
    const batch = await validated(endpoint, endpoint === '/v1/embeddings' ? { input: 'x' } : fit, body, body);
    expect(batch.hasBegun).toBe(false);
    expect(batch.failure).toContain('requests[1].body: ');
    expect(batch.failure).toContain(named);
  });

  it('fails a batch of an endpoint that no line can run on', async () => {
    expect((await validated('/v1/audio/speech', {})).failure).toBe('Requests on /v1/audio/speech cannot be run');
  });
});

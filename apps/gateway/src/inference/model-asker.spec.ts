import { AppError } from '@libs/errors';
import type { InferenceResult, RoutedRequest } from '@libs/inference';
import { modelAsker } from './model-asker';
import type { PreparedCall } from './prepared-call';

const QUESTION = { model: 'test/judge', messages: [{ role: 'user', content: 'Well?' }], maxTokens: 10 };

/** A call whose fund refuses to reserve with `refusal`. */
function setUp(refusal?: AppError) {
  const steps: string[] = [];
  const sent: RoutedRequest[] = [];
  const policies = [{ owner: 'workspace', policy: { zdr: true } }];
  const call = {
    generationId: 'gen-1',
    caller: { organizationId: 'org', workspaceId: 'ws', keyHash: 'hash', policies },
  };
  const fund = {
    reserve: (picoUsd: bigint) => {
      steps.push(`reserve ${picoUsd}`);
      return refusal === undefined ? Promise.resolve(picoUsd) : Promise.reject(refusal);
    },
    spent: (picoUsd: bigint, { totalCost }: { totalCost: bigint }) => void steps.push(`spent ${picoUsd} ${totalCost}`),
  };
  const engine = {
    answer: (_api: string, request: RoutedRequest) => {
      steps.push('ask');
      sent.push(request);
      return Promise.resolve({ cost: { totalCost: 3n } } as InferenceResult);
    },
  };
  const preferences = { zdr: true, dataCollection: 'deny', order: ['elsewhere'] };
  const prepared = { call, checked: { route: { preferences } }, fund } as unknown as PreparedCall;
  return { ask: modelAsker(engine as never, { holdFor: () => 7n }, prepared), steps, sent };
}

describe(modelAsker, () => {
  it('reserves what a question may cost before it is asked, and replaces that by its cost', async () => {
    const { ask, steps } = setUp();
    await ask(QUESTION);
    expect(steps).toEqual(['reserve 7', 'ask', 'spent 7 3']);
  });

  it('asks nothing that is not covered', async () => {
    const { ask, steps } = setUp(new AppError('payment_required', 'No credits'));
    await expect(ask(QUESTION)).rejects.toThrow('No credits');
    expect(steps).toEqual(['reserve 7']);
  });

  it('holds the model to the data rules of the call, not to its choice of providers', async () => {
    const { ask, sent } = setUp();
    await ask(QUESTION);
    expect(sent[0]).toMatchObject({ model: 'test/judge', preferences: { zdr: true, dataCollection: 'deny' } });
    expect(sent[0]!.preferences).not.toHaveProperty('order');
    expect(sent[0]!.policies).toHaveLength(1);
  });
});

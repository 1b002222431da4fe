import type { GenerationView } from '@libs/persistence';
import { generationEntry } from './generation-entry';

const view: GenerationView = {
  id: 'gen-1763715600-aaaaaaaaaaaaaaaaaaaa',
  workspaceId: 'workspace',
  api: 'responses',
  model: 'acme/large',
  streamed: true,
  state: 'settled',
  provider: 'acme',
  upstreamModel: 'large',
  upstreamId: 'up-1',
  statusCode: 200,
  outcome: 'cancelled',
  finishReason: 'stop',
  promptTokens: 3,
  completionTokens: 2,
  cachedTokens: 1,
  reasoningTokens: 0,
  costUsd: '0.000000000001',
  latencyMs: 5,
  generationMs: 9,
  createdAt: new Date(1_763_715_600_000),
};
const unknown = { ...view, provider: null, outcome: null, finishReason: null, promptTokens: 0, costUsd: '0' };

describe(generationEntry.name, () => {
  it('tells what a call used and whether its caller left', () => {
    expect(generationEntry(view, 'Acme')).toMatchObject({
      api_type: 'completions',
      provider_name: 'Acme',
      cancelled: true,
      tokens_prompt: 3,
      native_tokens_cached: 1,
      total_cost: 1e-12,
      usage: 1e-12,
    });
    expect(generationEntry({ ...view, api: 'embeddings' }, null)).toMatchObject({ api_type: 'embeddings' });
  });

  it.each([
    ['open', null],
    ['abandoned', 'error'],
  ] as const)('does not know what a call that is %s used', (state, finishReason) => {
    expect(generationEntry({ ...unknown, state }, null)).toMatchObject({
      cancelled: null,
      finish_reason: finishReason,
      tokens_prompt: null,
      tokens_completion: null,
      native_tokens_cached: null,
      native_tokens_reasoning: null,
      total_cost: 0,
    });
  });
});

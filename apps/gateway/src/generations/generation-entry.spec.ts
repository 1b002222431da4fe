import type { GenerationDetails, GenerationView } from '@libs/persistence';
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
  details: null,
  createdAt: new Date(1_763_715_600_000),
};
const nameOf = (slug: string): string => slug.toUpperCase();
const unknown = { ...view, provider: null, outcome: null, finishReason: null, promptTokens: 0, costUsd: '0' };

describe(generationEntry.name, () => {
  it('tells what a call used and whether its caller left', () => {
    expect(generationEntry(view, nameOf)).toMatchObject({
      api_type: 'completions',
      provider_name: 'ACME',
      cancelled: true,
      tokens_prompt: 3,
      native_tokens_cached: 1,
      total_cost: 1e-12,
      usage: 1e-12,
    });
    expect(generationEntry({ ...view, api: 'embeddings' }, nameOf)).toMatchObject({ api_type: 'embeddings' });
  });

  it.each([
    ['open', null],
    ['abandoned', 'error'],
  ] as const)('does not know what a call that is %s used', (state, finishReason) => {
    expect(generationEntry({ ...unknown, state }, nameOf)).toMatchObject({
      cancelled: null,
      finish_reason: finishReason,
      tokens_prompt: null,
      tokens_completion: null,
      native_tokens_cached: null,
      native_tokens_reasoning: null,
      total_cost: 0,
    });
  });

  it('names the model that served, else the one that was asked for', () => {
    const attempts = (...models: readonly (readonly [model: string, status: number])[]) => ({
      attempts: models.map(([model, status]) => ({ model, provider: 'acme', status, latencyMs: 1 })),
    });
    const asked = { ...view, model: 'acme/large:nitro' };
    const modelOf = (details: GenerationDetails | null): string => generationEntry({ ...asked, details }, nameOf).model;
    expect(modelOf(attempts(['acme/large', 503], ['acme/other', 200]))).toBe('acme/other');
    expect(modelOf(attempts(['acme/large', 503], ['acme/other', 400]))).toBe('acme/large:nitro');
    expect(modelOf(attempts())).toBe('acme/large:nitro');
    expect(modelOf(null)).toBe('acme/large:nitro');
  });

  it('tells who called and every provider that was asked', () => {
    const attempt = { model: 'acme/large', provider: 'other', status: 503, latencyMs: 7 };
    const details: GenerationDetails = {
      requestId: 'req-1',
      userAgent: 'client/1',
      externalUser: 'hash',
      audioParts: 1,
      mediaParts: 3,
      nativeFinishReason: 'end_turn',
      serviceTier: 'flex',
      isByok: true,
      upstreamCostUsd: '0.000000000002',
      cacheDiscountUsd: '-0.5',
      search: { engine: 'exa', results: 7 },
      attempts: [attempt, { ...attempt, provider: 'acme', status: 200, isByok: true }],
    };
    expect(generationEntry({ ...view, details }, nameOf)).toMatchObject({
      request_id: 'req-1',
      session_id: null,
      user_agent: 'client/1',
      origin: '',
      external_user: 'hash',
      num_media_prompt: 3,
      num_input_audio_prompt: 1,
      num_fetches: null,
      num_search_results: 7,
      web_search_engine: 'exa',
      native_finish_reason: 'end_turn',
      service_tier: 'flex',
      is_byok: true,
      upstream_inference_cost: 2e-12,
      cache_discount: -0.5,
      provider_responses: [
        { provider_name: 'OTHER', model_permaslug: 'acme/large', status: 503, latency: 7, is_byok: false },
        { provider_name: 'ACME', status: 200, is_byok: true, id: 'up-1', routed_service_tier: 'flex' },
      ],
    });
  });

  it('says nothing of a call whose record tells no more', () => {
    expect(generationEntry(view, nameOf)).toMatchObject({
      provider_responses: null,
      num_media_prompt: null,
      user_agent: null,
      is_byok: false,
      upstream_inference_cost: null,
      num_search_results: null,
      web_search_engine: null,
    });
  });
});

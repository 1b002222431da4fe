import { EmbeddingsController } from './embeddings.controller';
import { InferenceApp } from './testing/inference-app';

const ONE = { model: 'test/embed', input: 'text' };

describe(EmbeddingsController.name, () => {
  let app: InferenceApp;

  beforeAll(async () => {
    app = await InferenceApp.start();
    app.answer = (_request, response) =>
      void response.end(
        JSON.stringify({
          object: 'list',
          data: [{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }],
          model: 'embeddings-model',
          usage: { prompt_tokens: 3, total_tokens: 3 },
        }),
      );
  });

  afterAll(() => app.close());

  it('answers vectors, names the generation and charges the prompt', async () => {
    const response = await app.post('embeddings', ONE);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      object: 'list',
      model: 'test/embed',
      data: [{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }],
      usage: { prompt_tokens: 3, cost: 0.000003 },
    });
    const generationId = response.headers.get('x-generation-id');
    await app.recorder.flush();
    expect(app.books.settled.at(-1)).toMatchObject({ id: generationId, api: 'embeddings', costUsd: '0.000003' });
  });

  it.each([
    [
      'E01',
      [
        { ...ONE, input: undefined },
        { ...ONE, input: null },
        { ...ONE, input: '' },
        { ...ONE, input: [] },
      ],
    ],
    [
      'E02',
      [
        { ...ONE, input: [''] },
        { ...ONE, input: [null] },
        { ...ONE, input: ['a', 1] },
        { ...ONE, input: [[]] },
        { ...ONE, input: [[['a']]] },
      ],
    ],
    [
      'E03',
      [
        { ...ONE, input: [-1] },
        { ...ONE, input: [1.5] },
        { ...ONE, input: [1e12] },
        { ...ONE, input: [1, '1'] },
      ],
    ],
    ['E04', [{ ...ONE, input: Array.from({ length: 100_001 }, () => 'a') }]],
    ['E06', [{ input: 'a' }, { ...ONE, model: 'test/none' }, { ...ONE, model: 'test/chat' }, { ...ONE, model: 1 }]],
    [
      'E07',
      [
        { ...ONE, dimensions: 0 },
        { ...ONE, dimensions: -1 },
        { ...ONE, dimensions: 1.5 },
        { ...ONE, dimensions: '256' },
        { ...ONE, dimensions: 1e9 },
      ],
    ],
    [
      'E08',
      [
        { ...ONE, encoding_format: 'hex' },
        { ...ONE, encoding_format: null },
      ],
    ],
    ['E09', [{ ...ONE, user: 'x'.repeat(257) }]],
    ['E10', [{ ...ONE, input_type: 1 }]],
    ['E11', [{ ...ONE, provider: { allow_fallbacks: 'yes' } }]],
  ])('refuses the bad inputs of %s', async (_name, bodies) => {
    const before = app.upstreamCalls.length;
    for (const body of bodies) {
      const response = await app.post('embeddings', body);
      expect({ status: response.status, body: JSON.stringify(body).slice(0, 100) }).toMatchObject({ status: 400 });
      await response.body?.cancel();
    }
    expect(app.upstreamCalls).toHaveLength(before);
  });

  it('refuses a call that is not covered (E17)', async () => {
    const poor = await InferenceApp.start();
    poor.books.isBroke = true;
    const response = await poor.post('embeddings', ONE);
    expect(response.status).toBe(402);
    await response.body?.cancel();
    expect(poor.upstreamCalls).toEqual([]);
    await poor.close();
  });

  it.each([
    [503, 529],
    [529, 529],
    [524, 524],
    [504, 524],
    [408, 524],
    [500, 502],
    [400, 400],
  ])('answers an upstream that says %d with %d', async (theirs, ours) => {
    const failing = await InferenceApp.start();
    failing.answer = (_request, response) => void response.writeHead(theirs).end('{"error":{"message":"no"}}');
    try {
      const response = await failing.post('embeddings', ONE, {
        headers: {
          authorization: `Bearer ${failing.key}`,
          'content-type': 'application/json',
          'x-sluice-metadata': 'enabled',
        },
      });
      expect(response.status).toBe(ours);
      expect(await response.json()).toMatchObject({
        error: { code: ours },
        sluice_metadata: { attempts: [{ status: ours }] },
      });
      await failing.recorder.flush();
      expect(failing.books.settled.at(-1)).toMatchObject({
        statusCode: ours,
        costUsd: '0',
        details: { attempts: [{ status: ours }] },
      });
    } finally {
      await failing.close();
    }
  });

  it('refuses more than the model takes in, however long the word, at once (E05, E20)', async () => {
    const startedMs = performance.now();
    const response = await app.post('embeddings', { ...ONE, input: 'x'.repeat(200_000) });
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { metadata: { error_type: 'context_length_exceeded' } } });
  });
});

import { AppError } from '@libs/errors';
import { anEndpoint, aModel, anEngine, aProvider, FakeUpstream } from '../testing';
import { CohereProvider } from './cohere.provider';
import { describeConformance } from './testing/conformance';

describeConformance('cohere', 'conversation');

interface EmbedBody {
  readonly texts?: readonly string[];
  readonly inputs?: readonly unknown[];
}

interface Embedded {
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[] }[];
  readonly usage: object;
}

describe(CohereProvider.name, () => {
  let upstream: FakeUpstream;
  let fixture: ReturnType<typeof anEngine>;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    const provider = aProvider({ protocol: 'cohere', baseUrl: `${upstream.origin}/v2` });
    fixture = anEngine([aModel({ endpoints: [anEndpoint({ provider, contextLength: 512 })] })]);
  });

  afterEach(async () => {
    await upstream.close();
    await fixture.http.close();
  });

  const embed = async (members: object) => {
    const result = await fixture.engine.answer('embeddings', {
      generationId: 'gen-1763715600-abcdefghijklmnopqrst',
      model: 'acme/large',
      body: Buffer.from(JSON.stringify({ model: 'acme/large', ...members })),
      signal: new AbortController().signal,
    });
    return { ...result, json: JSON.parse(result.body.toString()) as Embedded };
  };

  /** Answers with one vector for each input, which holds the number in the input; three tokens each. */
  const answers = (count = (inputs: number) => inputs): void => {
    upstream.behaviour = (response, { body }) => {
      const { texts = [], inputs = [] } = JSON.parse(body) as EmbedBody;
      const asked = [...texts, ...inputs];
      const vectors = asked.slice(0, count(asked.length)).map((text) => [Number(text) || 0, 1]);
      const meta = { billed_units: { input_tokens: 3 * texts.length, image_tokens: 100 * inputs.length } };
      response.end(JSON.stringify({ id: 'up-1', embeddings: { float: vectors }, meta }));
    };
  };

  const sent = (): Record<string, unknown>[] =>
    upstream.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>);

  it('asks for vectors of documents that are not cut off', async () => {
    answers();
    await embed({ input: 'words', user: 'anna', provider: { allow_fallbacks: true } });
    expect(upstream.requests[0]!.path).toBe('/v2/embed');
    expect(sent()).toEqual([
      {
        model: 'acme-large-2026',
        input_type: 'search_document',
        embedding_types: ['float'],
        truncate: 'NONE',
        texts: ['words'],
      },
    ]);
  });

  it.each([
    ['query', 'search_query'],
    ['RETRIEVAL_DOCUMENT', 'search_document'],
    ['clustering', 'clustering'],
    ['something_new', 'something_new'],
  ])('takes the input type %s for %s', async (asked, meant) => {
    answers();
    await embed({ input: ['words'], input_type: asked, dimensions: 2 });
    expect(sent()).toMatchObject([{ input_type: meant, output_dimension: 2 }]);
  });

  it('sends pictures and text as they stand together, and tells what they cost apart', async () => {
    answers();
    const content = [
      { type: 'text', text: 'a cat' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'high' } },
    ];
    const { json, usage } = await embed({ input: [{ content }] });
    const { detail: _detail, ...image } = content[1]!.image_url!;
    expect(sent()).toMatchObject([{ inputs: [{ content: [content[0], { type: 'image_url', image_url: image }] }] }]);
    expect(json.usage).toMatchObject({
      prompt_tokens: 100,
      prompt_tokens_details: { text_tokens: 0, image_tokens: 100 },
    });
    expect(usage).toMatchObject({ promptTokens: 100, provenance: 'upstream' });
  });

  it('splits a long list, keeps its order and sums up what it used', async () => {
    answers();
    const { behaviour } = upstream;
    let [underWay, most] = [0, 0];
    upstream.behaviour = (response, request) => {
      underWay += 1;
      most = Math.max(most, underWay);
      setTimeout(() => {
        underWay -= 1;
        behaviour(response, request);
      }, 5);
    };
    const input = Array.from({ length: 1_000 }, (_, n) => String(n));
    const { json, usage } = await embed({ input });
    expect(json.data.map(({ index, embedding }) => [index, embedding[0]])).toEqual(input.map((_, n) => [n, n]));
    expect(usage).toMatchObject({ promptTokens: 3_000, provenance: 'upstream' });
    expect(sent().map(({ texts }) => (texts as string[]).length)).toHaveLength(11);
    expect(most).toBe(4);
  });

  it('gives up on the whole list at the first part that fails', async () => {
    let calls = 0;
    upstream.behaviour = (response) => {
      calls += 1;
      if (calls === 2) response.writeHead(429, { 'retry-after': '7' }).end('{"message":"slow down"}');
    };
    const error: unknown = await embed({ input: Array.from({ length: 1_000 }, () => 'a') }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: 7 });
    expect(await Promise.all(upstream.endings.slice(2))).not.toContain(true);
    expect(upstream.requests.length).toBeLessThanOrEqual(4);
  });

  it.each([
    ['one vector too few in some part', () => answers((inputs) => (inputs === 96 ? 95 : inputs))],
    ['no vectors', () => upstream.answers(200, '{"id":"x","embeddings":{"int8":[[1]]}}')],
    ['vectors that are no list', () => upstream.answers(200, '{"embeddings":{"float":7}}')],
    ['half an answer', () => upstream.answers(200, '{"embeddings":{"float":[[1,')],
    ['a complaint in a 200', () => upstream.answers(200, '{"message":"out of order"}')],
  ])('calls the provider unavailable for %s', async (_what, misbehave) => {
    misbehave();
    const input = Array.from({ length: 100 }, () => '1');
    await expect(embed({ input })).rejects.toMatchObject({ code: 'provider_unavailable', status: 502 });
  });

  it('estimates what was used when a part is not counted', async () => {
    upstream.answers(200, '{"embeddings":{"float":[[1]]}}');
    expect((await embed({ input: 'four' })).usage).toMatchObject({ promptTokens: 2, provenance: 'estimated' });
  });

  it.each([
    [{ input: [1, 2] }, 'input'],
    [{ input: [[1], [2]] }, 'input'],
    [{ input: [{ content: [{ type: 'input_audio', input_audio: { data: 'AAAA' } }] }] }, 'input[0].content[0].type'],
    [
      { input: [{ content: [{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }] }] },
      'input[0].content[0].image_url.url',
    ],
  ])('refuses %j, which the upstream has no form for', async (members, param) => {
    const error: unknown = await embed(members).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: 'invalid_request', metadata: { param } });
    expect(upstream.requests).toHaveLength(0);
  });

  it('tells the caller what the upstream will not embed', async () => {
    upstream.answers(422, '{"message":"invalid request: output_dimension must be one of 256, 512"}');
    await expect(embed({ input: 'a', dimensions: 7 })).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'invalid request: output_dimension must be one of 256, 512',
    });
  });
});

import { leftCallOf } from '../engine/left-call';
import { leftEmbeddings } from '../dialects/openai-embeddings/dialect';
import { aModel, anAnswerContext, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';
import type { PriceList } from '../pricing/price';

const CENT = 10n ** 16n;
/** A cent for each request and ten for each picture; tokens cost nothing. */
const PRICES: PriceList = { prompt: 0n, completion: 0n, request: CENT, image: 10n * CENT };
const GENERATION = 'gen-1763715600-abcdefghijklmnopqrst';
const PICTURE = { content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] };

const cents = (count: number): bigint => BigInt(count) * 10_000_000_000n;

describe('the price of embeddings that take several calls', () => {
  let upstream: FakeUpstream;
  let fixture: ReturnType<typeof anEngine>;

  const begin = (protocol: string, { embeddings = {}, upstreamModel = 'up/embed' } = {}): void => {
    const provider = aProvider({ protocol, baseUrl: upstream.baseUrl });
    const traits = { provider, apis: ['embeddings'] as const, capabilities: { embeddings }, upstreamModel };
    fixture = anEngine([aModel({ endpoints: [anEndpoint({ ...traits, pricing: PRICES })] })]);
  };

  const ask = (input: unknown) =>
    fixture.engine.answer('embeddings', {
      generationId: GENERATION,
      model: 'acme/large',
      body: Buffer.from(JSON.stringify({ model: 'acme/large', input, encoding_format: 'float' })),
      signal: new AbortController().signal,
    });

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
  });

  afterEach(async () => {
    await upstream.close();
    await fixture.http.close();
  });

  /** Answers as OpenAI does; `refuses` is a text in the calls that get 400, after the others. */
  const answerAsOpenAi = (refuses = 'nothing'): void => {
    upstream.behaviour = (response, { body }) => {
      const { input } = JSON.parse(body) as { readonly input: readonly unknown[] };
      const data = input.map((_, index) => ({ object: 'embedding', index, embedding: [1] }));
      const answer = { object: 'list', model: 'm', data, usage: { prompt_tokens: 10, total_tokens: 10 } };
      const isRefused = body.includes(refuses);
      const reply = isRefused ? { error: { message: 'No' } } : answer;
      setTimeout(() => response.writeHead(isRefused ? 400 : 200).end(JSON.stringify(reply)), isRefused ? 30 : 0);
    };
  };

  it.each([
    [1, ['a', 'b', 'c'], 3],
    [2, ['a', 'b', 'c'], 2],
    [3, ['a', 'b', 'c'], 1],
    [1, [PICTURE, 'b', PICTURE], 23],
    [3, [PICTURE, 'b', PICTURE], 21],
  ])('in calls of %d inputs, for %j, is %d cents', async (most, input, count) => {
    begin('openai', { embeddings: { max_inputs: most } });
    answerAsOpenAi();
    const { cost } = await ask(input);
    expect(cost.totalCost).toBe(cents(count));
  });

  it('counts no call that failed before it was repeated', async () => {
    begin('openai', { embeddings: { max_inputs: 1 } });
    answerAsOpenAi();
    const answers = upstream.behaviour;
    let hasFailed = false;
    upstream.behaviour = (response, request) => {
      if (hasFailed || !request.body.includes('later')) return answers(response, request);
      hasFailed = true;
      setTimeout(() => response.writeHead(503, { 'retry-after': '0' }).end('{}'), 30);
    };
    const { cost } = await ask(['a', 'later']);
    expect({ asked: upstream.requests.length, cost: cost.totalCost }).toEqual({
      asked: 3,
      cost: cents(2),
    });
  });

  it.each([
    ['a picture that was embedded', [PICTURE, 'b', 'bad'], 12],
    ['no picture that was refused', ['a', 'b', { content: [...PICTURE.content, { type: 'text', text: 'bad' }] }], 2],
    ['one of two pictures', [PICTURE, { content: [...PICTURE.content, { type: 'text', text: 'bad' }] }], 11],
  ])('has, of a request that failed in part, %s', async (_what, input, count) => {
    begin('openai', { embeddings: { max_inputs: 1 } });
    answerAsOpenAi('bad');
    const thrown: unknown = await ask(input).catch((error: unknown) => error);
    expect(leftCallOf(thrown)?.cost.totalCost).toBe(cents(count));
  });

  it.each([
    ['amazon.titan-embed-text-v2:0', 3],
    ['cohere.embed-v4:0', 1],
  ])('at Bedrock has a request for each call of %s', async (upstreamModel, count) => {
    begin('bedrock', { upstreamModel });
    upstream.behaviour = (response, { body }) => {
      const { texts } = JSON.parse(body) as { readonly texts?: readonly string[] };
      const answer = texts === undefined ? { embedding: [1] } : { embeddings: { float: texts.map(() => [1]) } };
      response.writeHead(200).end(JSON.stringify(answer));
    };
    const { cost } = await ask(['a', 'b', 'c']);
    expect(cost.totalCost).toBe(cents(count));
  });

  it.each([
    ['openai', { max_inputs: 1 }, 3],
    ['openai', { max_inputs: 3 }, 1],
    ['openai', { max_request_tokens: 60 }, 1],
    ['openai', { max_request_tokens: 20 }, 3],
    ['openai', {}, 1],
    ['cohere', {}, 1],
    ['bedrock', {}, 3],
    ['google-vertex', {}, 3],
  ])('at %s with %j is, if the caller disconnects, that of the reserved requests', (protocol, embeddings, requests) => {
    const provider = aProvider({ protocol });
    const endpoint = anEndpoint({
      provider,
      upstreamModel: 'gemini-embedding-001',
      capabilities: { embeddings },
      pricing: PRICES,
    });
    const requestBody = Buffer.from(JSON.stringify({ model: 'acme/large', input: ['a', 'b', 'x'.repeat(50)] }));
    const { cost } = leftEmbeddings(anAnswerContext({ endpoint, requestBody }));
    expect(cost.totalCost).toBe(cents(requests));
  });
});

import { leftCallOf, type LeftCall } from '../engine/left-call';
import type { PriceList } from '../pricing/price';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';
import { embedBatched } from './batched-embeddings';

interface Embedded {
  readonly id?: string;
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[] }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number; readonly cost: number };
}

interface Asked {
  readonly input: readonly string[];
  readonly model: string;
}

describe(embedBatched.name, () => {
  let upstream: FakeUpstream;
  let fixture: ReturnType<typeof anEngine>;
  let sent: Asked[];

  const begin = (protocol: string, embeddings: object, pricing?: PriceList): void => {
    const provider = aProvider({ protocol, baseUrl: upstream.baseUrl });
    const traits = { provider, apis: ['embeddings'] as const, capabilities: { embeddings } };
    const endpoint = anEndpoint({ ...traits, ...(pricing && { pricing }) });
    fixture = anEngine([aModel({ endpoints: [endpoint] })]);
  };

  const embed = async (input: unknown): Promise<Embedded> => {
    const { body } = await fixture.engine.answer('embeddings', {
      generationId: 'gen-1763715600-abcdefghijklmnopqrst',
      model: 'acme/large',
      body: Buffer.from(JSON.stringify({ model: 'acme/large', input, encoding_format: 'float' })),
      signal: new AbortController().signal,
    });
    return JSON.parse(body.toString()) as Embedded;
  };

  /** The vector of an input is its length. */
  const vectorsOf = ({ input }: Asked) =>
    input.map(({ length }, index) => ({ object: 'embedding', index, embedding: [length] }));

  beforeEach(async () => {
    sent = [];
    upstream = await FakeUpstream.start();
    upstream.behaviour = (response, { body }) => {
      const asked = JSON.parse(body) as Asked;
      const number = sent.push(asked);
      const usage = { prompt_tokens: asked.input.length, total_tokens: asked.input.length };
      const answer = { id: `up-${number}`, object: 'list', model: 'm', data: vectorsOf(asked), usage };
      // The first call is answered last.
      setTimeout(() => response.writeHead(200).end(JSON.stringify(answer)), number === 1 ? 50 : 0);
    };
  });

  afterEach(async () => {
    await upstream.close();
    await fixture.http.close();
  });

  const words = (count: number): string[] => Array.from({ length: count }, (_, index) => 'x'.repeat(1 + (index % 97)));

  it.each([
    ['mistral', {}, 600, [88, 256, 256]],
    ['openai', { max_inputs: 250 }, 600, [100, 250, 250]],
    ['azure', { max_inputs: 250 }, 600, [100, 250, 250]],
    ['openai', { max_inputs: 600 }, 600, [600]],
    ['openai', {}, 5_000, [5_000]],
  ])('has %s, which says %j, embed %d inputs in calls of %j', async (protocol, says, count, calls) => {
    begin(protocol, says);
    const input = words(count).map((word) => (protocol === 'mistral' ? word.slice(0, 40) : word));
    const { data, usage } = await embed(input);
    expect(sent.map((one) => one.input.length).sort((one, other) => one - other)).toEqual(calls);
    expect(data).toEqual(vectorsOf({ input, model: '' }));
    expect(usage).toMatchObject({ prompt_tokens: count, total_tokens: count });
  });

  it.each([
    ['mistral', {}],
    ['openai', { max_request_tokens: 16_384 }],
  ])('sends %s, which says %j, no more tokens in one call than it takes', async (protocol, says) => {
    begin(protocol, says);
    const input = ['é'.repeat(8_000), 'a'.repeat(10_000), 'b'.repeat(10_000), 'c'];
    expect((await embed(input)).data).toEqual(vectorsOf({ input, model: '' }));
    expect(sent.map((one) => one.input.length)).toEqual([2, 2]);
  });

  it('has one text and the tokens of one text embedded in one call, however long they are', async () => {
    begin('openai', { max_inputs: 2, max_request_tokens: 10 });
    upstream.answers(200, JSON.stringify({ data: [{ index: 0, embedding: [1] }], usage: { total_tokens: 9 } }));
    for (const input of ['x'.repeat(100), Array.from({ length: 100 }, () => 12_345)]) await embed(input);
    expect(upstream.requests).toHaveLength(2);
  });

  it.each([
    ['an answer without all vectors', 200, { data: [], usage: { total_tokens: 1 } }, 'provider_unavailable'],
    ['an error in an answer', 200, { error: { message: 'Busy', code: 429 } }, 'rate_limit_exceeded'],
    ['no JSON', 200, 'oops', 'provider_unavailable'],
    ['a refusal', 400, { error: { message: 'No' } }, 'invalid_request'],
  ])('tells of %s to one of several calls', async (_what, status, answer, code) => {
    begin('openai', { max_inputs: 2 });
    upstream.answers(status, typeof answer === 'string' ? answer : JSON.stringify(answer));
    await expect(embed(['a', 'b', 'c', 'd', 'e'])).rejects.toMatchObject({ code });
  });

  it('charges pictures as the calls counted them, and says what the prompt was made of', async () => {
    const pricing = { prompt: 10n ** 12n, completion: 0n, imageToken: 10n ** 13n };
    begin('openai', { max_inputs: 1 }, pricing);
    const picture = { content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] };
    upstream.behaviour = (response, { body }) => {
      const details = body.includes('image_url') && { prompt_tokens_details: { image_tokens: 90, text_tokens: 10 } };
      const usage = { prompt_tokens: 100, total_tokens: 100, ...details };
      const data = [{ object: 'embedding', index: 0, embedding: [1] }];
      response.writeHead(200).end(JSON.stringify({ object: 'list', model: 'm', data, usage }));
    };
    const { usage } = await embed(['a', picture, picture]);
    expect(usage).toMatchObject({
      prompt_tokens: 300,
      prompt_tokens_details: { image_tokens: 180, text_tokens: 20 },
      cost: 0.00192,
    });
  });

  it('leaves usage to be estimated unless every call was counted', async () => {
    begin('openai', { max_inputs: 3 });
    upstream.behaviour = (response, { body }) => {
      const asked = JSON.parse(body) as Asked;
      const usage = asked.input.length === 3 ? { total_tokens: 1_000 } : undefined;
      response.writeHead(200).end(JSON.stringify({ data: vectorsOf(asked), usage }));
    };
    const { usage } = await embed(['a', 'b', 'c', 'd', 'e']);
    expect(usage.prompt_tokens).toBeLessThan(20);
  });

  describe('charges a request of which a part was answered', () => {
    /** Answers, after the others, the calls that hold the word `bad` with this status. */
    const failOn = (status: number): void => {
      upstream.behaviour = (response, { body }) => {
        const asked = JSON.parse(body) as Asked;
        sent.push(asked);
        if (!asked.input.includes('bad')) {
          const usage = { total_tokens: 1_000 };
          return void response.writeHead(200).end(JSON.stringify({ data: vectorsOf(asked), usage }));
        }
        const refusal = JSON.stringify({ error: { message: 'No' } });
        setTimeout(() => response.writeHead(status, { 'retry-after': '60' }).end(refusal), 30);
      };
    };

    const chargeOf = async (input: unknown): Promise<LeftCall | null> => {
      const thrown = await embed(input).then(
        () => Promise.reject(new Error('It was answered')),
        (error: unknown) => error,
      );
      return leftCallOf(thrown);
    };

    it.each([
      ['openai', ['a', 'b', 'c', 'd', 'bad']],
      ['openai', ['bad', 'b', 'c', 'd', 'e', 'f', 'g']],
    ])('that %s then refused for %j', async (protocol, input) => {
      begin(protocol, { max_inputs: 2 });
      failOn(400);
      const charge = await chargeOf(input);
      const answered = sent.filter((one) => !one.input.includes('bad')).length;
      expect(charge?.usage).toMatchObject({ promptTokens: answered * 1_000, provenance: 'upstream' });
    });

    it('and not one that the provider failed', async () => {
      begin('openai', { max_inputs: 2 });
      failOn(503);
      expect(await chargeOf(['a', 'b', 'c', 'd', 'bad'])).toBeNull();
    });

    it('and not one of which nothing was answered', async () => {
      begin('openai', { max_inputs: 2 });
      upstream.answers(400, JSON.stringify({ error: { message: 'No' } }));
      expect(await chargeOf(['a', 'b', 'c'])).toBeNull();
    });

    it('that took all of its time', async () => {
      begin('openai', { max_inputs: 2 });
      upstream.behaviour = (response, { body }) => {
        const asked = JSON.parse(body) as Asked;
        sent.push(asked);
        const usage = { total_tokens: 1_000 };
        if (sent.length < 3) response.writeHead(200).end(JSON.stringify({ data: vectorsOf(asked), usage }));
      };
      const request = {
        generationId: 'gen-1763715600-abcdefghijklmnopqrst',
        model: 'acme/large',
        body: Buffer.from(JSON.stringify({ model: 'acme/large', input: ['a', 'b', 'c', 'd', 'e'] })),
        signal: new AbortController().signal,
        deadlineMs: Date.now() + 200,
      };
      const thrown = await fixture.engine.answer('embeddings', request).catch((error: unknown) => error);
      expect(thrown).toMatchObject({ code: 'timeout' });
      expect(leftCallOf(thrown)?.usage).toMatchObject({ promptTokens: 2_000 });
    });
  });
});

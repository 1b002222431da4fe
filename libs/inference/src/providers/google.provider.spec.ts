import { Secret } from '@libs/contracts';
import { anEndpoint, aProvider, FakeUpstream, FIXTURE_KEY } from '../testing';
import { GoogleProvider } from './google.provider';
import { describeConformance } from './testing/conformance';
import { UpstreamHttp } from '../wire/upstream-http';

describeConformance('google', 'conversation');

describe(GoogleProvider.name, () => {
  let upstream: FakeUpstream;
  let http: UpstreamHttp;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp();
  });

  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  const call = (body: object, upstreamModel = 'gemini-embedding-2') => ({
    endpoint: anEndpoint({ provider: aProvider({ protocol: 'google', baseUrl: upstream.baseUrl }), upstreamModel }),
    apiKey: new Secret(FIXTURE_KEY),
    body: Buffer.from(JSON.stringify(body)),
    signal: new AbortController().signal,
    timeouts: { headersMs: 2_000, idleMs: 2_000, totalMs: 2_000 },
  });
  const embed = async (body: object) =>
    JSON.parse((await new GoogleProvider(http).embed(call(body))).body.toString()) as {
      data: { index: number; embedding: unknown }[];
      usage?: object;
    };
  const sent = () => upstream.requests.map(({ body }) => JSON.parse(body) as { requests: object[] });

  it('takes a file for removed of which the API says no more than that it may not exist', async () => {
    const { batch } = new GoogleProvider(http);
    const kept = { id: null, inputFileId: 'files/in1', outputs: [] };
    const gone = 'You do not have permission to access the File in1 or it may not exist.';
    upstream.answers(403, JSON.stringify({ error: { code: 403, message: gone, status: 'PERMISSION_DENIED' } }));
    expect(await batch.remove(kept, call({}))).toBe('deleted');
    const locked = 'Your API key was reported as leaked. Please use another API key.';
    upstream.answers(403, JSON.stringify({ error: { code: 403, message: locked, status: 'PERMISSION_DENIED' } }));
    await expect(batch.remove(kept, call({}))).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it('does not say that the output of a batch is gone whose name the API takes for too long', async () => {
    const tooLong = "* DeleteFileRequest.name: File ID (name excluding 'files/') cannot be more than 40 characters.";
    upstream.behaviour = (response, { path }) => {
      const isOutput = path.includes('batch-');
      response.writeHead(isOutput ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isOutput ? { error: { code: 400, message: tooLong } } : {}));
    };
    const output = 'files/batch-7h9w4gzuqot3bb3fpd1e2nqcp980iwnmjs7n';
    const kept = { id: 'batches/1', inputFileId: 'files/in1', outputs: [output] };
    expect(await new GoogleProvider(http).batch.remove(kept, call({}))).toBe('unsupported');
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/batches/1', '/v1/files/in1', `/v1/${output}`]);
  });

  it('names the model in the path and asks for server-sent events', async () => {
    upstream.streams('data: {}\n\n');
    const stream = await new GoogleProvider(http).converseStream(call({}, 'gemini-3.5-flash'));
    stream.cancel();
    expect(upstream.requests[0]).toMatchObject({
      path: '/v1/models/gemini-3.5-flash:streamGenerateContent?alt=sse',
      headers: { 'x-goog-api-key': FIXTURE_KEY },
    });
    upstream.answers(200, '{}');
    await new GoogleProvider(http).converse(call({}, 'tunedModels/mine'));
    expect(upstream.requests[1]!.path).toBe('/v1/tunedModels/mine:generateContent');
  });

  it('embeds contents of any kind, for a purpose and in a size', async () => {
    upstream.answers(200, '{"embeddings":[{"values":[1,0]},{"values":[0,1]}]}');
    const { usage } = await embed({
      input: [
        {
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,YQ==' } },
          ],
        },
        { content: [{ type: 'input_file', input_file: { data: 'YQ==', format: 'pdf' } }] },
      ],
      input_type: 'search_query',
      dimensions: 2,
    });
    expect(usage).toBeUndefined();
    expect(upstream.requests[0]!.path).toBe('/v1/models/gemini-embedding-2:batchEmbedContents');
    const common = { model: 'models/gemini-embedding-2', outputDimensionality: 2 };
    const png = { inlineData: { mimeType: 'image/png', data: 'YQ==' } };
    const pdf = { inlineData: { mimeType: 'application/pdf', data: 'YQ==' } };
    expect(sent()[0]!.requests).toEqual([
      { ...common, content: { parts: [{ text: 'a' }, png] } },
      { ...common, content: { parts: [pdf] } },
    ]);
  });

  it.each([
    ['query', 'task: search result | query: a'],
    ['search_document', 'title: none | text: a'],
    ['semantic_similarity', 'task: sentence similarity | query: a'],
    ['something_else', 'a'],
  ])('says what a text is for in the text, as the model reads it: %s', async (input_type, text) => {
    upstream.answers(200, '{"embeddings":[{"values":[1]}]}');
    await embed({ input: 'a', input_type });
    expect(sent()[0]!.requests).toEqual([{ model: 'models/gemini-embedding-2', content: { parts: [{ text }] } }]);
  });

  it('embeds more inputs than one call takes, in order, and adds the tokens up', async () => {
    upstream.behaviour = (response, { body }) => {
      const { requests } = JSON.parse(body) as { requests: { content: { parts: { text: string }[] } }[] };
      const embeddings = requests.map(({ content }) => ({ values: [Number(content.parts[0]!.text)] }));
      const answer = JSON.stringify({ embeddings, usageMetadata: { promptTokenCount: requests.length } });
      // The first batch is the last to be answered.
      setTimeout(() => response.writeHead(200).end(answer), requests.length === 100 ? 20 : 0);
    };
    const { data, usage } = await embed({ input: Array.from({ length: 101 }, (_, i) => String(i)) });
    expect(data.map(({ embedding }) => (embedding as number[])[0])).toEqual(Array.from({ length: 101 }, (_, i) => i));
    expect(usage).toEqual({ prompt_tokens: 101, total_tokens: 101 });
  });

  it('passes on how many tokens were sound, pictures and films', async () => {
    const counted = (name: string): string => {
      const details = ['AUDIO', 'IMAGE', 'VIDEO', 'TEXT'].map((modality, i) => ({ modality, tokenCount: 10 + i }));
      const usageMetadata = { promptTokenCount: 46, [name]: details };
      return JSON.stringify({ embeddings: [{ values: [1] }], usageMetadata });
    };
    for (const name of ['promptTokenDetails', 'promptTokensDetails']) {
      upstream.answers(200, counted(name));
      expect((await embed({ input: 'a' })).usage).toEqual({
        prompt_tokens: 46,
        total_tokens: 46,
        prompt_tokens_details: { audio_tokens: 10, image_tokens: 11, video_tokens: 12 },
      });
    }
  });

  it('writes base64 as 32-bit floats, which the upstream does not', async () => {
    upstream.answers(200, '{"embeddings":[{"values":[1,-0.5]}]}');
    const { data } = await embed({ input: 'a', encoding_format: 'base64' });
    const bytes = Buffer.from(data[0]!.embedding as string, 'base64');
    expect([bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([1, -0.5]);
  });

  it.each([
    ['tokens', { input: [[1, 2]] }],
    ['an unknown kind of content', { input: [{ content: [{ type: 'smell' }] }] }],
  ])('refuses %s before it asks', async (_what, body) => {
    await expect(embed(body)).rejects.toMatchObject({ code: 'invalid_request' });
    expect(upstream.requests).toHaveLength(0);
  });

  it.each(['{"embeddings":[{}]}', '{"embeddings":[{"values":["1"]}]}', '<html>'])(
    'calls %s no embedding',
    async (answer) => {
      upstream.answers(200, answer);
      await expect(embed({ input: 'a' })).rejects.toMatchObject({ code: 'provider_unavailable' });
    },
  );
});

import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';
import { MistralProvider } from './mistral.provider';
import { describeConformance } from './testing/conformance';

describeConformance('mistral', 'conversation');

describe(MistralProvider.name, () => {
  let upstream: FakeUpstream;
  let fixture: ReturnType<typeof anEngine>;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    const provider = aProvider({ protocol: 'mistral', baseUrl: upstream.baseUrl });
    fixture = anEngine([aModel({ endpoints: [anEndpoint({ provider })] })]);
  });

  afterEach(async () => {
    await upstream.close();
    await fixture.http.close();
  });

  const embed = (members: string) =>
    fixture.engine.answer('embeddings', {
      generationId: 'gen-1763715600-abcdefghijklmnopqrst',
      model: 'acme/large',
      body: Buffer.from(`{"model":"acme/large",${members}}`),
      signal: new AbortController().signal,
    });

  it.each([
    ['"input":"\\u00e9"', '"input":"\\u00e9"'],
    [
      '"dimensions":256,"input":["a","b"],"encoding_format":"float"',
      '"input":["a","b"],"encoding_format":"float","output_dimension":256',
    ],
    ['"input":["a"],"dimensions":null,"user":"anna","input_type":"query","stream":false', '"input":["a"]'],
  ])('sends %s as %s', async (members, sent) => {
    const data = [0, 1].map((index) => ({
      object: 'embedding',
      index,
      embedding: Array.from({ length: 256 }, () => 1),
    }));
    const isTwo = members.includes('"b"');
    upstream.answers(200, JSON.stringify({ object: 'list', data: data.slice(0, isTwo ? 2 : 1) }));
    await embed(members);
    expect(upstream.requests[0]).toMatchObject({
      path: '/v1/embeddings',
      body: `{"model":"acme-large-2026",${sent}}`,
    });
  });

  it.each(['"input":[1,2]', '"input":[[1],[2]]', '"input":[{"content":[{"type":"text","text":"a"}]}]'])(
    'refuses %s, which is no text',
    async (members) => {
      await expect(embed(members)).rejects.toMatchObject({ code: 'invalid_request', metadata: { param: 'input' } });
      expect(upstream.requests).toHaveLength(0);
    },
  );

  it('tells the caller what will not be embedded', async () => {
    const detail = [{ type: 'extra_forbidden', loc: ['body', 'output_dimension'], msg: 'Not supported', input: 7 }];
    upstream.answers(422, JSON.stringify({ detail }));
    await expect(embed('"input":"a","dimensions":7')).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'output_dimension: Not supported',
    });
  });
});

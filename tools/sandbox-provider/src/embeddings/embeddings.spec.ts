import { SandboxClient } from '../testing/sandbox-client';
import { answerEmbeddings } from './embeddings';
import { vectorOfText } from './text-vector';

const PATH = '/v1/embeddings';

function cosine(left: ArrayLike<number>, right: ArrayLike<number>): number {
  return Array.from(left).reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
}

describe(answerEmbeddings.name, () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start();
  });

  afterAll(() => client.close());

  const embed = async (input: unknown, members: object = {}): Promise<number[][]> => {
    const { body } = await client.post(PATH, { model: 'sandbox-embedding', input, ...members });
    return body.data.map((entry: { embedding: number[] }) => entry.embedding);
  };

  it('answers unit vectors of 256 numbers, in order, with usage', async () => {
    const { body } = await client.post(PATH, { model: 'sandbox-embedding', input: ['12345678', 'second'] });
    expect(body).toMatchObject({
      object: 'list',
      model: 'sandbox-embedding',
      data: [{ object: 'embedding', index: 0 }, { index: 1 }],
      usage: { prompt_tokens: 4, total_tokens: 4 },
    });
    for (const { embedding } of body.data) {
      expect(embedding).toHaveLength(256);
      expect(cosine(embedding, embedding)).toBeCloseTo(1, 5);
    }
  });

  it('gives the same vector in base64 as in floats', async () => {
    const [floats] = await embed('the same');
    const { body } = await client.post(PATH, { model: 'm', input: 'the same', encoding_format: 'base64' });
    const bytes = Buffer.from(body.data[0].embedding, 'base64');
    expect(Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4))).toEqual(floats);
  });

  it('gives as many dimensions as asked', async () => {
    expect((await embed('x', { dimensions: 17 }))[0]).toHaveLength(17);
  });

  it('takes a list of tokens and lists of tokens', async () => {
    const [single] = await embed([1, 2, 3]);
    expect(await embed([[1, 2, 3], [9]])).toEqual([single, expect.any(Array)]);
  });

  it.each([
    ['The cat sat on the mat', 'A cat is sitting on a mat', 'Quarterly revenue exceeded expectations'],
    ['How do I reset my password?', 'password reset instructions', 'The train to Berlin leaves at noon'],
    ['database connection timeout', 'the connection to the database timed out', 'recipe for an apple cake'],
    ['Die Katze schläft', 'schlafende Katzen', 'Der Vertrag wurde gekündigt'],
  ])('puts %j nearer to %j than to %j', (text, related, unrelated) => {
    const [one, two, three] = [text, related, unrelated].map((sentence) => vectorOfText(sentence, 256));
    if (!one || !two || !three) throw new Error('three sentences, three vectors');
    expect(cosine(one, two)).toBeGreaterThan(0.3);
    expect(cosine(one, two)).toBeGreaterThan(cosine(one, three) + 0.2);
  });

  it('has a vector for a text without a word', () => {
    const vector = vectorOfText('?!', 8);
    expect(cosine(vector, vector)).toBeCloseTo(1, 5);
  });

  it.each([
    ['input', { input: undefined }],
    ['input', { input: '' }],
    ['input', { input: [] }],
    ['input', { input: ['a', ''] }],
    ['input', { input: [[1], [-1]] }],
    ['input', { input: Array.from({ length: 2_049 }, () => 'a') }],
    ['dimensions', { dimensions: 0 }],
    ['encoding_format', { encoding_format: 'hex' }],
  ])('names %s when it is at fault', async (param, members) => {
    const { status, body } = await client.post(PATH, { model: 'm', input: 'x', ...members });
    expect(status).toBe(400);
    expect(body.error.param).toBe(param);
  });
});

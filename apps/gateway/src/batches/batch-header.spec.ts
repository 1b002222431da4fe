import { AppError } from '@libs/errors';
import { BatchHeaderReader } from './batch-header';

function read(members: Record<string, unknown>): unknown {
  const reader = new BatchHeaderReader();
  try {
    for (const [name, value] of Object.entries(members)) reader.read(name, Buffer.from(JSON.stringify(value)));
    return reader.finish();
  } catch (error) {
    if (error instanceof AppError) return `${error.status} ${error.message}`;
    throw error;
  }
}

const endpoint = '/v1/embeddings';
const model = 'vendor/model';

describe(BatchHeaderReader.name, () => {
  it('takes members in any order and tolerates unknown ones', () => {
    const expected = { endpoint, model, only: null, callbackUrl: null };
    expect(read({ model, colour: 'blue', completion_window: '24h', endpoint })).toEqual(expected);
    expect(read({ provider: null, endpoint, model })).toEqual(expected);
    expect(read({ endpoint, model, provider: { only: ['openai'], sort: null } })).toEqual({
      ...expected,
      only: ['openai'],
    });
    const callbackUrl = 'https://receiver.example/';
    expect(read({ callback_url: callbackUrl, endpoint, model })).toEqual({ ...expected, callbackUrl });
    expect(read({ endpoint, model, callback_url: null })).toEqual(expected);
  });

  it.each([
    [{ model }, '400 endpoint is required'],
    [{ endpoint }, '400 model is required'],
    [{ endpoint: '/v1/completions', model }, /^400 endpoint must be one of .* \(it is a string of 15 characters\)$/],
    [{ endpoint: 'v1/chat/completions', model }, /^400 endpoint must be one of/],
    [{ endpoint: null, model }, /^400 endpoint must be one of/],
    [{ endpoint: 1, model }, /^400 endpoint must be one of/],
    [{ endpoint, model: '' }, '400 model must be a non-empty string (it is an empty string)'],
    [{ endpoint, model: 1 }, '400 model must be a non-empty string (it is 1)'],
    [{ endpoint, model: null }, '400 model must be a non-empty string (it is null)'],
    [{ endpoint, model: 'x'.repeat(257) }, '400 model is longer than 256 characters'],
    [
      { endpoint, model, completion_window: '1h' },
      '400 completion_window must be "24h" (it is a string of 2 characters)',
    ],
    [{ endpoint, model, completion_window: 24 }, '400 completion_window must be "24h" (it is 24)'],
    [{ endpoint, model, completion_window: null }, '400 completion_window must be "24h" (it is null)'],
    [{ endpoint, model, callback_url: 1 }, '400 callback_url must be a string (it is 1)'],
    [
      { endpoint, model, callback_url: ['https://a.example/'] },
      '400 callback_url must be a string (it is an array of 1)',
    ],
    [{ endpoint, model, provider: [] }, '400 provider must be an object (it is an empty array)'],
    [{ endpoint, model, provider: 'x' }, '400 provider must be an object (it is "x")'],
    [
      { endpoint, model, provider: { order: ['a'] } },
      '400 provider.order cannot be used in a batch, only provider.only',
    ],
    [
      { endpoint, model, provider: { only: [] } },
      '400 provider.only must be an array of 1 to 100 provider slugs (it is an empty array)',
    ],
    [
      { endpoint, model, provider: { only: 'a' } },
      '400 provider.only must be an array of 1 to 100 provider slugs (it is "a")',
    ],
    [{ endpoint, model, provider: { only: [1] } }, '400 provider.only must hold provider slugs'],
    [
      { endpoint, model, provider: { only: Array.from({ length: 10_000 }, () => 'a') } },
      '400 provider.only must be an array of 1 to 100 provider slugs (it is an array of 10000)',
    ],
  ])('refuses %j', (members, expected) => {
    if (expected instanceof RegExp) expect(read(members)).toMatch(expected);
    else expect(read(members)).toBe(expected);
  });
});

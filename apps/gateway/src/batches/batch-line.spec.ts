import { AppError } from '@libs/errors';
import { readBatchLine } from './batch-line';

const read = (item: unknown): ReturnType<typeof readBatchLine> =>
  readBatchLine(3, Buffer.from(typeof item === 'string' ? item : JSON.stringify(item)));

function refusal(item: unknown): string {
  try {
    read(item);
  } catch (error) {
    if (error instanceof AppError) return `${error.status} ${error.message}`;
    throw error;
  }
  return 'accepted';
}

const body = { messages: [{ role: 'user', content: 'hello' }] };

describe(readBatchLine, () => {
  it("keeps the caller's bytes of the body", () => {
    const line = read('{"body": {"messages" : [],\t"x":1.0e2} , "custom_id":"a"}');
    expect(line.body.toString()).toBe('{"messages" : [],\t"x":1.0e2}');
  });

  it('takes names that are special to JavaScript as plain data', () => {
    for (const customId of ['__proto__', 'constructor', 'toString']) {
      expect(read({ custom_id: customId, body }).customId).toBe(customId);
    }
    expect(refusal('{"custom_id":"a","body":{"__proto__":{"stream":true}}}')).toBe('accepted');
    expect(({} as { stream?: boolean }).stream).toBeUndefined();
  });

  it('tells custom ids apart that differ only in case, space or normal form', () => {
    const ids = ['\u00e9', 'e\u0301', ' a', 'a', 'A'].map((customId) => read({ custom_id: customId, body }).customId);
    expect(new Set(ids).size).toBe(5);
  });

  it('counts the output the caller asks for, over all answers', () => {
    expect(read({ custom_id: 'a', body: { ...body, max_tokens: 10, n: 3 } })).toMatchObject({
      maxOutputTokens: { chat: 30, messages: 30 },
      choices: 3,
      toolUses: null,
    });
    const none = { chat: null, responses: null, messages: null };
    expect(read({ custom_id: 'a', body }).maxOutputTokens).toEqual(none);
  });

  it.each([
    [{ max_output_tokens: 1 }, { chat: null, responses: 1, messages: null }],
    [{ max_completion_tokens: 1 }, { chat: 1, responses: null, messages: null }],
    [{ max_tokens: 1 }, { chat: 1, responses: null, messages: 1 }],
    [
      { max_tokens: 9, max_completion_tokens: 1, max_output_tokens: 99 },
      { chat: 9, responses: 99, messages: 9 },
    ],
  ])('believes each API its own caps only, and of two the larger: %j', (caps, expected) => {
    expect(read({ custom_id: 'a', body: { ...body, ...caps } }).maxOutputTokens).toEqual(expected);
  });

  it('says whether the model is asked to think', () => {
    const asks = (more: object): boolean => read({ custom_id: 'a', body: { ...body, ...more } }).asksToThink;
    expect([{}, { reasoning: { effort: 'none' } }].map(asks)).toEqual([false, false]);
    expect([{ reasoning: { effort: 'high' } }, { reasoning_effort: 'low' }].map(asks)).toEqual([true, true]);
  });

  it.each([
    [null, '400 requests[3] must be an object'],
    ['"text"', '400 requests[3] must be an object'],
    [[], '400 requests[3] must be an object'],
    ['{"custom_id":"a",}', '400 Malformed batch input: requests[3] is not valid JSON'],
    [{ body }, '400 requests[3].custom_id must be a non-empty string'],
    [{ custom_id: null, body }, '400 requests[3].custom_id must be a non-empty string (it is null)'],
    [{ custom_id: 7, body }, '400 requests[3].custom_id must be a non-empty string (it is 7)'],
    [{ custom_id: '', body }, '400 requests[3].custom_id must be a non-empty string (it is an empty string)'],
    [{ custom_id: 'a\0b', body }, '400 requests[3].custom_id must be valid text without NUL characters'],
    ['{"custom_id":"\\ud800","body":{}}', '400 requests[3].custom_id must be valid text without NUL characters'],
    [{ custom_id: 'x'.repeat(513), body }, '422 requests[3].custom_id is longer than 512 characters'],
    [{ custom_id: 'a' }, '400 requests[3].body must be an object'],
    [{ custom_id: 'a', body: null }, '400 requests[3].body must be an object (it is null)'],
    [{ custom_id: 'a', body: [] }, '400 requests[3].body must be an object (it is an empty array)'],
    [{ custom_id: 'a', body: { ...body, model: 1 } }, '400 requests[3].body.model must be a string (it is 1)'],
    [{ custom_id: 'a', body: { ...body, stream: true } }, '400 requests[3].body.stream cannot be used in a batch'],
    [{ custom_id: 'a', body: { ...body, stream: 'true' } }, '400 requests[3].body.stream cannot be used in a batch'],
    [
      { custom_id: 'a', body: { input: 'x', previous_response_id: 'r' } },
      '400 requests[3].body.previous_response_id cannot be used: responses are not stored',
    ],
    [
      { custom_id: 'a', body: { ...body, max_tokens: -1 } },
      '400 requests[3].body.max_tokens must be an integer from 1 to 10000000 (it is -1)',
    ],
    [
      { custom_id: 'a', body: { ...body, max_completion_tokens: 1e18 } },
      '400 requests[3].body.max_completion_tokens must be an integer from 1 to 10000000 (it is 1000000000000000000)',
    ],
    [
      '{"custom_id":"a","body":{"max_tokens":-1e999}}',
      '400 requests[3].body.max_tokens must be an integer from 1 to 10000000 (it is -Infinity)',
    ],
    ['{"custom_id":"a","body":{"temperature":1e999}}', '400 Malformed batch input: requests[3] is not valid JSON'],
    [
      '{"custom_id":"a","body":{"n":1e999}}',
      '400 requests[3].body.n must be an integer from 1 to 128 (it is Infinity)',
    ],
    [
      { custom_id: 'a', body: { n: 1e9 } },
      '400 requests[3].body.n must be an integer from 1 to 128 (it is 1000000000)',
    ],
    [
      { custom_id: 'a', body: { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] } },
      '400 requests[3].body.messages[0] holds more than text, which a batch cannot carry',
    ],
    [
      { custom_id: 'a', body: { messages: [{ role: 'assistant', images: [{ image_url: { url: 'x' } }] }] } },
      '400 requests[3].body.messages[0] holds more than text, which a batch cannot carry',
    ],
    [
      { custom_id: 'a', body: { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] } },
      '400 requests[3].body.messages[0] holds more than text, which a batch cannot carry',
    ],
    [
      { custom_id: 'a', body: { input: [{ type: 'input_image' }] } },
      '400 requests[3].body.input[0] holds more than text, which a batch cannot carry',
    ],
    [
      { custom_id: 'a', body: { input: [{ type: 'image_generation_call', result: 'AAAA' }] } },
      '400 requests[3].body.input[0] holds more than text, which a batch cannot carry',
    ],
    [
      { custom_id: 'a', body: { input: [{ type: 'computer_call_output', output: { type: 'computer_screenshot' } }] } },
      '400 requests[3].body.input[0] holds more than text, which a batch cannot carry',
    ],
    [
      {
        custom_id: 'a',
        body: { ...body, metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, ''])) },
      },
      '400 requests[3].body.metadata has more than 16 pairs',
    ],
  ])('refuses %j', (item, expected) => {
    expect(refusal(item)).toBe(expected);
  });

  it('refuses a line of very many values, which would take thirty times its length once parsed', () => {
    const item = { custom_id: 'a', body: { ...body, user: Array.from({ length: 100_000 }, () => ({})) } };
    expect(refusal(item)).toBe('400 requests[3] has too many values');
  });
});

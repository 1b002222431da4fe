import fc from 'fast-check';
import { AppError } from '@libs/errors';
import { BatchBodySplitter } from './batch-body-splitter';

const limits = { maxItemBytes: 10_000, maxMemberBytes: 1_000, maxDepth: 10 };

interface Pieces {
  members: [string, unknown][];
  items: unknown[];
}

function split(body: Buffer, chunkLength = body.length): Pieces {
  const pieces: Pieces = { members: [], items: [] };
  const splitter = new BatchBodySplitter(
    {
      onMember: (name, json) => pieces.members.push([name, JSON.parse(json.toString())]),
      onItem: (index, json) => {
        expect(index).toBe(pieces.items.length);
        pieces.items.push(JSON.parse(json.toString()));
      },
    },
    limits,
  );
  for (let at = 0; at < body.length; at += chunkLength) splitter.write(body.subarray(at, at + chunkLength));
  splitter.end();
  return pieces;
}

function refusal(text: string | Buffer): string {
  try {
    split(Buffer.from(text));
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'accepted';
}

describe(BatchBodySplitter.name, () => {
  it('finds the same members and elements as JSON.parse, wherever the chunks are cut', () => {
    const nested = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.string({ unit: 'binary' }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.string(), tie('value'), { maxKeys: 3, noNullPrototype: true }),
      ),
    })).value;
    fc.assert(
      fc.property(
        fc.string(),
        nested,
        fc.array(nested, { maxLength: 6 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 0, max: 3 }),
        (model, provider, requests, chunkLength, indent) => {
          const body = Buffer.from(JSON.stringify({ model, requests, provider, 'odd"key\\': 1 }, null, indent));
          if (!body.toString().isWellFormed()) return;
          const pieces = split(body, chunkLength);
          expect(pieces.members).toEqual(
            JSON.parse(
              JSON.stringify([
                ['model', model],
                ['provider', provider],
                ['odd"key\\', 1],
              ]),
            ),
          );
          expect(pieces.items).toEqual(JSON.parse(JSON.stringify(requests)));
        },
      ),
    );
  });

  it.each([
    ['', 'the body ends too early'],
    ['[]', 'the body must be a JSON object'],
    ['null', 'the body must be a JSON object'],
    ['\ufeff{}', 'the body must be a JSON object'],
    ['{"requests":[{}', 'the body ends too early'],
    ['{"requests":[{}]', 'the body ends too early'],
    ['{"requests":[{}]}{}', 'something stands after the end of the body'],
    ['{"requests":[{},]}', 'requests[1] is missing'],
    ['{"requests":[,{}]}', 'requests[0] is missing'],
    ['{"requests":[{} {}]}', 'a comma is missing'],
    ['{"requests":{}}', 'requests must be an array'],
    ['{"requests":null}', 'requests must be an array'],
    ['{"requests":[],"requests":[]}', 'requests appears twice'],
    ['{"a":1,}', 'a member name is missing'],
    ['{a:1}', 'a member name is missing'],
    ["{'a':1}", 'a member name is missing'],
    ['{"a" 1}', 'a colon is missing'],
    ['{"a":1 "b":2}', 'a comma is missing'],
    [`{"requests":[${'['.repeat(11)}${']'.repeat(11)}]}`, 'requests[0] is nested too deeply'],
  ])('refuses %j', (body, reason) => {
    expect(refusal(body)).toBe(`invalid_request: Malformed batch input: ${reason}`);
  });

  it.each([
    ['{"requests":null}', 'requests'],
    ['{"requests":[],"requests":[]}', 'requests'],
    ['{"requests":[{},]}', 'requests[1]'],
  ])('names the member at fault in %j', (body, param) => {
    expect(() => split(Buffer.from(body))).toThrow(expect.objectContaining({ metadata: { param } }));
  });

  it('refuses text that is not UTF-8', () => {
    const body = Buffer.concat([Buffer.from('{"requests":["'), Buffer.from([0xc0, 0xaf]), Buffer.from('"]}')]);
    expect(refusal(body)).toBe('invalid_request: Malformed batch input: requests[0] is not valid UTF-8');
  });

  it('refuses an element or member over its limit before it is complete', () => {
    expect(refusal(`{"requests":["${'x'.repeat(10_000)}`)).toMatch(/^payload_too_large: requests\[0\]/);
    expect(refusal(`{"model":"${'x'.repeat(1_000)}`)).toMatch(/^payload_too_large: a member/);
  });
});

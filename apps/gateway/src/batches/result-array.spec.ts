import type { BatchView } from '@libs/persistence';
import { ResultArray } from './result-array';
import { rowOf, type ResultFields } from './testing/result-row';

const BATCH = { number: 1_234n, status: 'failed', errorMessage: `it's "over" – ü` } as BatchView;

function written(rows: readonly ResultFields[], expectedBytes = 4_096): unknown[] {
  const array = new ResultArray(BATCH, expectedBytes);
  for (const fields of rows) array.add(rowOf(fields));
  expect([array.count, array.lastSeq]).toEqual([rows.length, rows.at(-1)?.seq ?? -1]);
  return JSON.parse(`[${array.bytes.toString()}]`) as unknown[];
}

describe(ResultArray.name, () => {
  it('is a response or an error for each row', () => {
    const error = { type: 'server_error', message: 'no "answer"\n', param: null };
    const rows = [
      { seq: 0, customId: 'first', statusCode: 200, requestId: 'req-0', body: '{"n":1}' },
      { seq: 35, customId: 'second', error: JSON.stringify(error) },
    ];
    expect(written(rows)).toEqual([
      {
        id: 'batch_req_ya_0',
        custom_id: 'first',
        response: { status_code: 200, request_id: 'req-0', body: { n: 1 } },
        error: null,
      },
      { id: 'batch_req_ya_35', custom_id: 'second', response: null, error },
    ]);
  });

  it('tells the error of the batch for a request that came to nothing', () => {
    expect(written([{ seq: 1, customId: 'lost' }])).toMatchObject([
      { response: null, error: { type: 'batch_failed', message: `The batch failed: it's "over" – ü`, param: null } },
    ]);
  });

  it('leaves out what an answer of a provider lacks', () => {
    const [item] = written([{ seq: 1, customId: 'c', body: '1' }]);
    expect(item).toMatchObject({ response: { status_code: null, request_id: null, body: 1 } });
  });

  it.each(['"quoted"', 'back\\slash', 'line\nfeed \u0001', 'ü 漢 \u{1f600} \u2028', ' ', '\u007f'])(
    'writes the custom_id %j as its caller did',
    (customId) => {
      expect(written([{ seq: 1, customId, body: '{}' }])).toMatchObject([{ custom_id: customId }]);
    },
  );

  it('passes the bytes of a body as they are', () => {
    const array = new ResultArray(BATCH, 16);
    const body = '{ "price" : 1.10, "big":12345678901234567890, "e":"\\u00e9" }';
    array.add(rowOf({ seq: 1, customId: 'c', statusCode: 200, requestId: 'r', body }));
    expect(array.bytes.includes(body)).toBe(true);
  });

  it('grows beyond what was expected of it', () => {
    const body = JSON.stringify('x'.repeat(10_000));
    const rows = Array.from({ length: 20 }, (_, seq) => ({ seq, customId: `c${seq}`, body }));
    expect(written(rows, 1)).toHaveLength(20);
    expect(written([])).toEqual([]);
  });
});

import fc from 'fast-check';
import { heapTakenBy } from '@libs/json/testing';
import { findShapeProblem, parseJsonObject, readScannedBody, scanJsonBody } from './parse-json';

describe(parseJsonObject.name, () => {
  it('reads what JSON.parse reads, slowly or fast', () => {
    const body = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }));
    fc.assert(
      fc.property(body, fc.boolean(), (object, escaped) => {
        const text = escaped ? JSON.stringify({ ...object, 'x"': 1 }) : JSON.stringify(object);
        const parsed = parseJsonObject(Buffer.from(text), 'lenient');
        // Compared as text: this very test must not trust names that JSON.parse has read.
        expect(JSON.stringify(parsed)).toBe(JSON.stringify(escaped ? { ...object, 'x"': 1 } : object));
      }),
    );
  });
});

describe(findShapeProblem.name, () => {
  it('refuses more values than memory is set aside for without a reservation', () => {
    const line = (members: number): Buffer => Buffer.from(`{"a":[${'{"b":1},'.repeat(members)}1]}`);
    expect(findShapeProblem(line(20_000))).toBeNull();
    expect(findShapeProblem(line(50_000))).toBe('too many values');
    expect(() => parseJsonObject(line(50_000), 'lenient')).toThrow('it has too many values');
    expect(findShapeProblem(Buffer.from('['.repeat(65)))).toBe('too many levels');
  });
});

describe(readScannedBody.name, () => {
  it('counts the tokens of a prompt on its way', () => {
    const body = Buffer.from(JSON.stringify({ messages: [{ content: 'many more '.repeat(50) }] }));
    expect(readScannedBody(scanJsonBody(body), 'lenient').prompt.tokens).toBe(173);
  });

  it('takes no more memory than the shape says where names are escaped', () => {
    for (const object of ['{}', '[]', '{"9":1}', '{"99":{}}', '{"KEY":1}', '{"a":1,"b":2}', '"a"']) {
      const items = Array.from({ length: 20_000 }, (_, at) => object.replace('KEY', `name ${at}`));
      const body = Buffer.from(`{"\\u0061":[${items.join(',')}]}`);
      const scanned = scanJsonBody(body);
      const heapBytes = heapTakenBy(() => readScannedBody(scanned, 'lenient'));
      expect(heapBytes).toBeLessThan(scanned.shape.valueBytes + body.length);
    }
  });
});

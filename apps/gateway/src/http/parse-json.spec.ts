import fc from 'fast-check';
import { parseJsonObject, readJsonBody } from './parse-json';

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

describe(readJsonBody.name, () => {
  it('counts the tokens of a prompt on its way', () => {
    const body = Buffer.from(JSON.stringify({ messages: [{ content: 'many more '.repeat(50) }] }));
    expect(readJsonBody(body, 'lenient').prompt.tokens).toBe(102);
  });
});

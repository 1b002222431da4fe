import { readClaims } from './claims';

const read = (text: string): unknown => readClaims(Buffer.from(text));

describe(readClaims.name, () => {
  it.each([{}, { a: 1, b: [true, null, 'ä'], c: { d: -1.5e3 } }, { 'https://a.example/claim': 'x' }])(
    'reads %j',
    (claims) => {
      expect(read(JSON.stringify(claims))).toEqual(claims);
    },
  );

  it('keeps names apart that are written with escapes, whatever was read before', () => {
    read('{"h":[],"\\\\":0}');
    expect(read('{"h":1,"\\"":2,"https:\\/\\/a":3}')).toEqual({ h: 1, '"': 2, 'https://a': 3 });
  });

  it('gives a claim called __proto__ as a claim', () => {
    const claims = readClaims(Buffer.from('{"__proto__":{"sub":"a"}}'))!;
    expect([Object.keys(claims), claims.sub]).toEqual([['__proto__'], undefined]);
  });

  it.each([
    ['nothing', ''],
    ['a list', '[]'],
    ['a text', '"a"'],
    ['a number', '1'],
    ['half an object', '{"a":'],
    ['more than an object', '{}{}'],
    ['a name twice', '{"iss":"a","iss":"b"}'],
    ['a name twice, once escaped', '{"iss":"a","\\u0069ss":"b"}'],
    ['objects too deep in each other', `${'{"a":'.repeat(10)}1${'}'.repeat(10)}`],
    ['a name twice, deep inside', '{"a":[{"b":1,"b":1}]}'],
    ['half a surrogate pair', '{"a":"\\ud800"}'],
    ['a NUL', '{"a":"\\u0000"}'],
    ['no number', '{"a":NaN}'],
    ['a thousand levels', `{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`],
    ['a thousand values', `{"a":[${'0,'.repeat(999)}0]}`],
  ])('refuses %s', (_what, text) => {
    expect(read(text)).toBeNull();
  });

  it('refuses bytes that are no UTF-8', () => {
    expect(readClaims(Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc0, 0xaf, 0x22, 0x7d]))).toBeNull();
  });
});

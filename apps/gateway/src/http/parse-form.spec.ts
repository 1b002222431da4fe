import { parseForm } from './parse-form';

const parse = (text: string): object => Object.fromEntries(parseForm(Buffer.from(text, 'latin1')));

describe(parseForm.name, () => {
  it.each<[string, object]>([
    ['', {}],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=b=c', { a: 'b=c' }],
    ['a+b=c+d%2B', { 'a b': 'c d+' }],
    ['a=%C3%A4&%c3%a4=x', { a: 'ä', ä: 'x' }],
    ['a=&b', { a: '', b: '' }],
    ['__proto__=x', Object.fromEntries([['__proto__', 'x']])],
  ])('reads %p', (text, fields) => {
    expect(parse(text)).toEqual(fields);
  });

  it.each([
    ['a field twice', 'a=1&a=2'],
    ['a field twice, once escaped', 'a=1&%61=2'],
    ['half an escape', 'a=%2'],
    ['an escape of nothing', 'a=%zz'],
    ['bytes that are no UTF-8', 'a=%C0%AF'],
    ['raw bytes that are no UTF-8', 'a=\xe4'],
    ['a NUL', 'a=%00'],
    ['many fields', Array.from({ length: 51 }, (_, index) => `a${index}=1`).join('&')],
    ['ten thousand times nothing', 'a=&'.repeat(10_000)],
  ])('refuses %s', (_what, text) => {
    expect(() => parse(text)).toThrow('The request body cannot be read: ');
  });
});

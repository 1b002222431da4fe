import { readByteRange } from './byte-range';

describe(readByteRange, () => {
  it.each([
    [undefined, null],
    ['bytes=0-', { first: 0, last: 99 }],
    ['bytes=10-19', { first: 10, last: 19 }],
    ['bytes=90-1000', { first: 90, last: 99 }],
    ['bytes=-10', { first: 90, last: 99 }],
    ['bytes=-1000', { first: 0, last: 99 }],
    ['bytes=20-10', null],
    ['bytes=0-1,5-6', null],
    ['bytes=-', null],
    ['bytes=a-b', null],
    ['items=0-1', null],
  ])('reads %s', (header, range) => {
    expect(readByteRange(header, 100)).toEqual(range);
  });

  it.each(['bytes=100-', 'bytes=100-200', 'bytes=-0'])('refuses %s, which lies outside', (header) => {
    expect(() => readByteRange(header, 100)).toThrow(
      expect.objectContaining({ code: 'range_not_satisfiable', headers: { 'Content-Range': 'bytes */100' } }),
    );
  });
});

import { systemCodeOf } from './system-code';

describe(systemCodeOf, () => {
  it.each([
    [Object.assign(new Error('e'), { code: 'ECONNRESET' }), 'ECONNRESET'],
    // An error of undici's parser.
    [Object.assign(new Error('e'), { code: undefined }), null],
    [new Error('e'), null],
    ['text', null],
    [null, null],
  ])('of %s', (thrown, code) => {
    expect(systemCodeOf(thrown)).toBe(code);
  });
});

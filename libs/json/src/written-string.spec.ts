import { bytesOfString } from './written-string';

describe(bytesOfString.name, () => {
  it.each([
    ['nothing', ''],
    ['plain text', 'Hello, world'],
    ['each of the first 300 characters', String.fromCharCode(...Array.from({ length: 300 }, (_, code) => code))],
    ['text of several bytes a character', 'é€😀\u2028'],
    ['halves of pairs', '\ud800a\udfff\udc00\ud800\ud83d\ude00'],
    ['quotes and backslashes', '"\\"\\\\'],
  ])('is the length of what JSON.stringify writes, for %s', (_what, text) => {
    expect(bytesOfString(text)).toBe(Buffer.byteLength(JSON.stringify(text)));
  });
});

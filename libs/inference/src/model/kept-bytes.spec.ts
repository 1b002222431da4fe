import { keptBytes } from './kept-bytes';

describe('keptBytes', () => {
  it('gives a small buffer memory of its own, with the same bytes', () => {
    const cut = Buffer.from('{"model":"acme/large"}');
    expect(cut.buffer.byteLength).toBeGreaterThan(cut.length);
    const kept = keptBytes(cut);
    expect(kept.toString()).toBe('{"model":"acme/large"}');
    expect(kept.buffer.byteLength).toBe(cut.length);
  });

  it('does not copy what fills its memory already', () => {
    const large = Buffer.alloc(100_000, 'x');
    expect(keptBytes(large)).toBe(large);
  });

  it('copies what is part of something larger, which may change', () => {
    const chunk = Buffer.alloc(100_000, 'x');
    const kept = keptBytes(chunk.subarray(0, 99_999));
    chunk.fill('y');
    expect(kept.equals(Buffer.alloc(99_999, 'x'))).toBe(true);
  });

  it('takes nothing for nothing', () => {
    expect(keptBytes(Buffer.from('')).length).toBe(0);
  });
});

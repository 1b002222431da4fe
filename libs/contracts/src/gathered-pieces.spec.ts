import { GatheredPieces } from './gathered-pieces';

const gathered = (...pieces: readonly (string | Buffer)[]): GatheredPieces => {
  const gatherer = new GatheredPieces();
  for (const piece of pieces) gatherer.add(Buffer.from(piece));
  return gatherer;
};

describe(GatheredPieces.name, () => {
  it('returns the only piece without a copy', () => {
    const gatherer = new GatheredPieces();
    const piece = Buffer.from('a');
    gatherer.add(piece);
    expect(gatherer.take()).toBe(piece);
    expect(gatherer.bytes).toBe(0);
    expect(gatherer.take()).toEqual(Buffer.alloc(0));
  });

  it('keeps large pieces as they are and copies small ones together', () => {
    const gatherer = new GatheredPieces();
    const large = Buffer.alloc(65_536, 1);
    for (const piece of [Buffer.from('ab'), Buffer.from('c'), large, Buffer.from('d')]) gatherer.add(piece);
    expect(gatherer.closed).toHaveLength(2);
    const pieces = gatherer.close();
    expect(pieces.map(String)).toEqual(['abc', String(large), 'd']);
    expect(pieces[1]).toBe(large);
    expect(gatherer.bytes).toBe(65_540);
  });

  it('leaves bytes alone that it has handed out', () => {
    const gatherer = gathered('a', 'b');
    const first = gatherer.take();
    gatherer.add(Buffer.from('c'));
    gatherer.add(Buffer.from('d'));
    expect([String(first), String(gatherer.take())]).toEqual(['ab', 'cd']);
    gatherer.add(Buffer.from('e'));
    gatherer.add(Buffer.from('f'));
    gatherer.clear();
    gatherer.add(Buffer.from('g'));
    expect(String(gatherer.take())).toBe('g');
  });

  it('returns the bytes in order, however they are cut', () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 251));
    for (const lengths of [[1], [1, 5_000], [3, 1, 4_095, 0], [4_096], [1, 1, 1, 70_000]]) {
      const gatherer = new GatheredPieces();
      for (let at = 0, index = 0; at < bytes.length; index += 1) {
        const length = lengths[index % lengths.length]!;
        gatherer.add(bytes.subarray(at, at + length));
        at += length;
      }
      expect(gatherer.take().equals(bytes)).toBe(true);
    }
  });

  it('keeps few objects, and blocks of little more than the bytes, of pieces of one byte', () => {
    const gatherer = new GatheredPieces();
    for (let count = 0; count < 1_000_000; count += 1) gatherer.add(Buffer.from('x'));
    const pieces = gatherer.close();
    expect(pieces.length).toBeLessThan(30);
    const blocks = new Set(pieces.map(({ buffer }) => buffer));
    expect([...blocks].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(1_150_000);
  });

  it('takes no block of its own for each run of small pieces', () => {
    const gatherer = new GatheredPieces();
    const large = Buffer.alloc(4_096);
    for (let count = 0; count < 1_000; count += 1) {
      gatherer.add(Buffer.from('x'));
      gatherer.add(Buffer.from('y'));
      gatherer.add(large);
    }
    const blocks = new Set(gatherer.close().map(({ buffer }) => buffer));
    expect(blocks.size).toBeLessThan(10);
  });
});

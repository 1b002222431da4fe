import { dayOfId, mintId, numberedId, readNumberedId } from './ids';

describe('ids', () => {
  it('have the shape of the interface and never come twice', () => {
    const ids = Array.from({ length: 5_000 }, () => mintId('gen'));
    for (const id of ids) expect(id).toMatch(/^gen-\d{10}-[0-9A-Za-z]{20}$/);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('name the day they were made', () => {
    expect(dayOfId(mintId('batch', Date.UTC(2026, 10, 21, 23, 59, 59)))).toBe('2026-11-21');
    expect(dayOfId(mintId('gen-batch', Date.UTC(2026, 10, 22)))).toBe('2026-11-22');
    expect(dayOfId('gen-12-short')).toBeNull();
  });

  it('number the pieces of a whole, each its own and the same every time', () => {
    const whole = mintId('batch', Date.UTC(2026, 10, 21));
    const pieces = [0, 1, 61, 62, 499_999].map((index) => numberedId('gen-batch', whole, index));
    expect(new Set(pieces).size).toBe(pieces.length);
    for (const piece of pieces) {
      expect(piece).toMatch(/^gen-batch-\d{10}-[0-9A-Za-z]{20}$/);
      expect(dayOfId(piece)).toBe('2026-11-21');
    }
    expect(numberedId('gen-batch', whole, 62)).toBe(pieces[3]);
    expect(numberedId('gen-batch', mintId('batch'), 62)).not.toBe(pieces[3]);
  });

  it('tell of a piece which whole it is of, and which one it is', () => {
    const whole = mintId('batch', Date.UTC(2026, 10, 21));
    for (const index of [0, 1, 61, 62, 499_999]) {
      const piece = readNumberedId('gen-batch', 'batch', numberedId('gen-batch', whole, index));
      expect(piece?.index).toBe(index);
      expect(piece?.wholeStem).toHaveLength(whole.length - 6);
      expect(whole.startsWith(piece!.wholeStem)).toBe(true);
    }
    for (const text of ['', 'gen-batch-1-2', mintId('gen'), mintId('batch'), `${mintId('gen-batch')}x`]) {
      expect(readNumberedId('gen-batch', 'batch', text)).toBeNull();
    }
  });
});

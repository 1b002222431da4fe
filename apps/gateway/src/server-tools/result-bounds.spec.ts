import { ResultBounds } from './result-bounds';
import { found } from './testing/fake-tool';

const MEBIBYTE = 1_024 * 1_024;
const text = (mebibytes: number) => found('x'.repeat(mebibytes * MEBIBYTE));
const picture = (mebibytes: number) => found('Drawn.', { images: ['x'.repeat(mebibytes * MEBIBYTE)] });

describe(ResultBounds.name, () => {
  it.each([
    ['text', text, 3, 2],
    ['pictures', picture, 20, 13],
  ])('admits what fits into a turn of %s, and no tool after a result that does not', (_kind, result, fits, more) => {
    const bounds = new ResultBounds();
    bounds.beginTurn();
    expect(bounds.admit(result(fits))).toEqual(result(fits));
    expect(bounds.refusal).toBeNull();
    expect(bounds.admit(result(more))).toMatchObject({ isError: true, item: {}, costPicoUsd: 0n });
    expect(bounds.refusal).toContain('Ask for less at once');
    bounds.beginTurn();
    expect(bounds.refusal).toBeNull();
    expect(bounds.isFull).toBe(false);
  });

  it.each([
    ['text', text, 3],
    ['pictures', picture, 25],
  ])('ends the tools of a request for good when its %s is too long', (_kind, result, each) => {
    const bounds = new ResultBounds();
    for (let turn = 0; turn < 3; turn += 1) {
      bounds.beginTurn();
      bounds.admit(result(each));
    }
    bounds.beginTurn();
    expect(bounds.isFull).toBe(true);
    expect(bounds.refusal).toContain('Answer with what is there');
  });

  it('keeps the functions of a search whose text is left out', () => {
    const tools = [{ name: 'rare', parameters: null }];
    expect(new ResultBounds().admit({ ...text(5), tools })).toMatchObject({ isError: true, tools });
  });
});

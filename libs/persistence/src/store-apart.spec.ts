import { storeApart } from './store-apart';

const refusal = (code: string): Error => Object.assign(new Error(code), { code });

describe(storeApart.name, () => {
  it('stores what is good in one statement', async () => {
    const groups: number[][] = [];
    const outcome = await storeApart([1, 2, 3], async (rows) => groups.push([...rows]));
    expect(groups).toEqual([[1, 2, 3]]);
    expect(outcome).toMatchObject({ refused: [], failed: null });
  });

  it('stores all rows but those that are refused, in their order, in a bounded number of statements', async () => {
    const rows = Array.from({ length: 512 }, (_, index) => index);
    const bad = new Set([0, 300, 511]);
    const stored: number[] = [];
    let statements = 0;
    const { refused, failed } = await storeApart(rows, async (some) => {
      statements += 1;
      if (some.some((row) => bad.has(row))) throw refusal('22P05');
      stored.push(...some);
    });
    expect(stored).toEqual(rows.filter((row) => !bad.has(row)));
    expect(refused.map(({ row }) => row)).toEqual([...bad]);
    expect(failed).toBeNull();
    expect(statements).toBeLessThan(60);
  });

  it.each(['08006', '57014', '53300', '40001', '55P03', '42703'])(
    'gives all rows back on %s, which says nothing of them',
    async (code) => {
      const outcome = await storeApart([1, 2], () => Promise.reject(refusal(code)));
      expect(outcome).toMatchObject({ stored: [], refused: [], failed: { rows: [1, 2] } });
    },
  );

  it('says which rows are stored when the connection is lost in the middle', async () => {
    const { stored, refused, failed } = await storeApart([1, 2, 3, 4], async (rows) => {
      if (rows.includes(2)) throw refusal('23514');
      if (rows.includes(3)) throw refusal('08006');
    });
    expect(stored.flatMap(({ rows }) => rows)).toEqual([1]);
    expect(refused.map(({ row }) => row)).toEqual([2]);
    expect(failed?.rows).toEqual([3, 4]);
  });
});

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

  it.each(['XX001', 'XX002', '57014', '53200', '0A000', '21000', '42703'])(
    'keeps no row waiting behind one that always fails with %s',
    async (code) => {
      const stored: number[] = [];
      const { refused, failed } = await storeApart([0, 1, 2, 3, 4, 5, 6, 7], async (some) => {
        if (some.includes(3)) throw refusal(code);
        stored.push(...some);
      });
      expect(stored).toEqual([0, 1, 2, 4, 5, 6, 7]);
      expect(refused).toEqual([]);
      expect(failed).toMatchObject({ rows: [3], error: { code } });
    },
  );

  it('leaves the rest for later where no statement works', async () => {
    const rows = Array.from({ length: 512 }, (_, index) => index);
    let statements = 0;
    const { stored, failed } = await storeApart(rows, async () => {
      statements += 1;
      throw refusal('42P01');
    });
    expect(stored).toEqual([]);
    expect(failed?.rows.toSorted((one, other) => one - other)).toEqual(rows);
    expect(statements).toBeLessThan(70);
  });

  it.each(['08006', '53300', '53100', '40001', '55P03', '57P01', '25006'])(
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

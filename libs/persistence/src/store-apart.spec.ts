import { AppError } from '@libs/errors';
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
      const { refused, stuck, failed } = await storeApart([0, 1, 2, 3, 4, 5, 6, 7], async (some) => {
        if (some.includes(3)) throw refusal(code);
        stored.push(...some);
      });
      expect(stored).toEqual([0, 1, 2, 4, 5, 6, 7]);
      expect([refused, failed]).toEqual([[], null]);
      expect(stuck).toMatchObject([{ row: 3, error: { code } }]);
    },
  );

  it('reads the state of an error that the database has made `unavailable`', async () => {
    const wrapped = (code: string): Error => new AppError('unavailable', 'away', { cause: refusal(code) });
    const slow = await storeApart([1, 2, 3], async (some) => {
      if (some.includes(2)) throw wrapped('57014');
    });
    expect(slow).toMatchObject({ stuck: [{ row: 2 }], failed: null });
    const away = await storeApart([1, 2, 3], () => Promise.reject(wrapped('57P01')));
    expect(away).toMatchObject({ stored: [], stuck: [], failed: { rows: [1, 2, 3] } });
  });

  it('finds a slow row among 512 with three failures more, each of which takes until a timeout', async () => {
    let failures = 0;
    const rows = Array.from({ length: 512 }, (_, index) => index);
    const { stored, stuck } = await storeApart(rows, async (some) => {
      if (!some.includes(300)) return;
      failures += 1;
      throw refusal('57014');
    });
    expect([failures, stuck.map(({ row }) => row)]).toEqual([4, [300]]);
    expect(stored.flatMap((part) => part.rows)).toHaveLength(511);
  });

  it('tells rows behind one lock from the others with one failure more', async () => {
    const rows = Array.from({ length: 100 }, (_, index) => ({ index, account: index % 5 }));
    let failures = 0;
    const behindLock = async (some: typeof rows): Promise<void> => {
      if (!some.some(({ account }) => account === 3)) return;
      failures += 1;
      throw refusal('55P03');
    };
    const { stored, stuck, failed } = await storeApart(rows, (some) => behindLock([...some]), {
      keyOf: (row) => row.account,
    });
    expect([failures, failed]).toEqual([2, null]);
    expect(stored.flatMap((part) => part.rows)).toHaveLength(80);
    expect(stuck.map(({ row }) => row.account)).toEqual(Array(20).fill(3));
  });

  it('sets locked keys apart although they are many, so that the others are tried first the next time', async () => {
    const rows = Array.from({ length: 70 }, (_, account) => account);
    const { stored, stuck, failed } = await storeApart(rows, () => Promise.reject(refusal('55P03')));
    expect(stored).toEqual([]);
    // The first failure is that of all rows together.
    expect(stuck.map(({ row }) => row)).toEqual(rows.slice(0, 63));
    expect(failed?.rows).toEqual(rows.slice(63));
  });

  describe('where it can be asked which payers are locked', () => {
    const rows = Array.from({ length: 400 }, (_, index) => ({ index, payer: index % 100 }));
    const isBehindLock = ({ payer }: (typeof rows)[number]): boolean => payer !== 42;
    let failures: number;

    const store = async (some: readonly (typeof rows)[number][]): Promise<void> => {
      if (!some.some(isBehindLock)) return;
      failures += 1;
      throw refusal('55P03');
    };
    const lockedPayers = async (): Promise<ReadonlySet<number>> =>
      new Set(rows.filter(isBehindLock).map(({ payer }) => payer));

    beforeEach(() => (failures = 0));

    it('sets the rows of all locked payers apart after one timeout, and stores the others together', async () => {
      const { stored, stuck, failed } = await storeApart(rows, store, { payerOf: ({ payer }) => payer, lockedPayers });
      expect([failures, failed]).toEqual([1, null]);
      expect(stored).toEqual([{ rows: rows.filter((row) => !isBehindLock(row)), result: undefined }]);
      expect(stuck).toHaveLength(396);
    });

    it('tries rows together again that timed out behind a lock that is free by now', async () => {
      let waits = 1;
      const { stored, stuck } = await storeApart(
        rows,
        async () => {
          if (waits-- > 0) throw refusal('55P03');
        },
        { payerOf: ({ payer }) => payer, lockedPayers: async () => new Set<number>() },
      );
      expect([stored.map((part) => part.rows), stuck]).toEqual([[rows], []]);
    });

    it.each([
      ['another lock is held than those of payers', 5, async (): Promise<ReadonlySet<number>> => new Set()],
      ['that fails as well', 4, () => Promise.reject(refusal('57014'))],
    ])('tries each key by itself if %s', async (_, most, unknown) => {
      const few = rows.slice(40, 44);
      const locking = { payerOf: ({ payer }: (typeof rows)[number]): number => payer, lockedPayers: unknown };
      const { stored, stuck } = await storeApart(few, store, locking);
      expect(stored.flatMap((part) => part.rows)).toEqual([few[2]]);
      expect([failures, stuck.length]).toEqual([most, 3]);
    });
  });

  it('tries two locked keys of one payer and sets the others apart untried, without delay for anybody else', async () => {
    const rows = Array.from({ length: 41 }, (_, batch) => ({ batch, payer: batch === 40 ? 'other' : 'locked' }));
    let failures = 0;
    const { stored, stuck } = await storeApart(
      rows,
      async (some) => {
        if (!some.some(({ payer }) => payer === 'locked')) return;
        failures += 1;
        throw refusal('55P03');
      },
      { keyOf: (row) => row.batch, payerOf: (row) => row.payer },
    );
    expect([failures, stored.flatMap((part) => part.rows)]).toEqual([3, [rows[40]]]);
    expect(stuck.map(({ row }) => row)).toEqual(rows.slice(0, 40));
  });

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

  it.each(['08006', '53300', '53100', '40001', '57P01', '25006'])(
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

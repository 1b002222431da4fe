import { setImmediate as nextRound } from 'node:timers/promises';
import { AppError } from '@libs/errors';
import { CallFund } from './call-fund';

/** A hold that can grow up to an amount. */
class FakeHold {
  readonly covered: bigint[] = [];

  constructor(
    private heldPicoUsd: bigint,
    private readonly mostPicoUsd: bigint,
  ) {}

  async cover(totalPicoUsd: bigint): Promise<void> {
    await nextRound();
    if (totalPicoUsd > this.mostPicoUsd) throw new AppError('payment_required', 'Insufficient credits');
    this.covered.push(totalPicoUsd);
    if (totalPicoUsd > this.heldPicoUsd) this.heldPicoUsd = totalPicoUsd;
  }
}

const refusal = expect.objectContaining({ code: 'payment_required' });

describe(CallFund.name, () => {
  it('asks for what was spent and what is reserved, all together', async () => {
    const hold = new FakeHold(100n, 1_000n);
    const fund = new CallFund(hold, ({ tokens }) => BigInt(tokens));
    const turn = await fund.reserveTurn({ tokens: 100, kinds: null });
    fund.spent(turn, { totalCost: 180n });
    await fund.reserveTurn({ tokens: 100, kinds: null });
    expect(hold.covered).toEqual([100n, 280n]);
  });

  it.each([
    [true, 305n],
    [false, 205n],
  ])('counts what an own provider charged only where a limit does (%s)', async (countsByok, total) => {
    const hold = new FakeHold(100n, 1_000n);
    const fund = new CallFund(hold, ({ tokens }) => BigInt(tokens), countsByok);
    fund.spent(await fund.reserveTurn({ tokens: 100, kinds: null }), { totalCost: 5n, upstreamCost: 100n });
    await fund.reserveTurn({ tokens: 200, kinds: null });
    expect(hold.covered).toEqual([100n, total]);
  });

  it('counts what runs at one time together, and nothing of what was refused', async () => {
    const hold = new FakeHold(0n, 100n);
    const fund = new CallFund(hold, () => 0n);
    const asked = await Promise.allSettled([40n, 70n, 40n, 30n, 20n].map((amount) => fund.reserve(amount)));
    expect(asked.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']);
    await expect(fund.reserve(1n)).rejects.toEqual(refusal);
    fund.spent(40n, { totalCost: 10n });
    expect(await fund.reserve(30n)).toBe(30n);
  });
});

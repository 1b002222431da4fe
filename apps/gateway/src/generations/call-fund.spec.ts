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

  holdsLess = false;
  mayHold = true;

  mayHoldLess(): boolean {
    this.holdsLess = this.mayHold;
    return this.mayHold;
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

  describe('a turn with media', () => {
    const prompt = { tokens: 100, kinds: null, unproven: { tokens: 600, kinds: null } };
    const fundOf = (hold: FakeHold) => new CallFund(hold, ({ tokens }) => BigInt(tokens));

    it('reserves the most that it may cost', async () => {
      const hold = new FakeHold(0n, 1_000n);
      expect(await fundOf(hold).reserveTurn(prompt)).toBe(600n);
      expect(hold.holdsLess).toBe(false);
    });

    it('reserves what its media say where the most is not there, and goes on so', async () => {
      const hold = new FakeHold(0n, 400n);
      const fund = fundOf(hold);
      expect(await fund.reserveTurn(prompt)).toBe(100n);
      expect(await fund.reserveTurn(prompt)).toBe(100n);
      expect(hold.covered).toEqual([100n, 200n]);
    });

    it('is refused where another call of the organization does so', async () => {
      const hold = new FakeHold(0n, 400n);
      hold.mayHold = false;
      await expect(fundOf(hold).reserveTurn(prompt)).rejects.toEqual(refusal);
    });
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

import { randomBytes, randomUUID } from 'node:crypto';
import type { SpendingLimit } from '../ledger/key-limit';
import { anOpening, aSettlement, atOnce, booksOfSpec, storeKeyIn } from '../testing';
import type { GenerationOpening } from './generation-records';

const TEN: SpendingLimit = { amountUsd: '10', reset: null, includesByok: false };

describe('the hold of a call that goes on', () => {
  const books = booksOfSpec();

  async function openCall(creditsUsd: string, terms: Partial<GenerationOpening> = {}): Promise<GenerationOpening> {
    const organizationId = randomUUID();
    await books.ledger.topUp(organizationId, creditsUsd, randomUUID());
    return openAnother({ organizationId, workspaceId: randomUUID() }, terms);
  }

  async function openAnother(
    { organizationId, workspaceId }: Pick<GenerationOpening, 'organizationId' | 'workspaceId'>,
    terms: Partial<GenerationOpening> = {},
  ): Promise<GenerationOpening> {
    const apiKeyHash = randomBytes(32).toString('hex');
    await storeKeyIn(books.database, { organizationId, workspaceId }, apiKeyHash);
    const call = anOpening({ organizationId, workspaceId, apiKeyHash, holdUsd: '1', ...terms });
    expect((await books.generations.open([call]))[0]!.refusedBy).toBeNull();
    return call;
  }

  const heldOf = async ({ organizationId }: GenerationOpening): Promise<number> =>
    Number((await books.ledger.accountOf(organizationId)).heldUsd);

  it('grows from what is available, and is given back whole when the call is settled', async () => {
    const call = await openCall('10');
    expect(await books.generations.extend(call, '2.5')).toBeNull();
    expect(await heldOf(call)).toBe(3.5);
    await books.generations.settle([aSettlement(call, '3')]);
    expect(await books.ledger.accountOf(call.organizationId)).toMatchObject({
      balanceUsd: '7.000000000000',
      heldUsd: '0.000000000000',
    });
  });

  it.each([
    ['credits', 'credits', '5', {}],
    ['the limit of the key', 'key_limit', '100', { keyLimit: TEN }],
    ['a budget of the workspace', 'budget', '100', { budgets: [TEN] }],
  ])('does not grow beyond %s, and a refusal leaves no trace', async (_what, refusal, creditsUsd, terms) => {
    const call = await openCall(creditsUsd, terms);
    const before = await books.ledger.accountOf(call.organizationId);
    expect(await books.generations.extend(call, '9.5')).toBe(refusal);
    expect(await books.ledger.accountOf(call.organizationId)).toEqual(before);
    expect(await books.generations.extend(call, '4')).toBeNull();
    expect(await heldOf(call)).toBe(5);
    expect(await books.ledger.audit()).toEqual([]);
  });

  it.each([
    ['credits', '5', {}, 'Insufficient credits: the organization has 4 USD; this request reserves 9.5 USD', '4'],
    [
      'key_limit',
      '100',
      { keyLimit: TEN },
      'The spending limit of this key leaves 9 USD; this request reserves 9.5 USD',
      '9',
    ],
    [
      'budget',
      '100',
      { budgets: [TEN, { ...TEN, amountUsd: '7.25', reset: 'monthly' }] },
      'The monthly budget of this workspace leaves 6.25 USD; this request reserves 9.5 USD',
      '6.25',
    ],
  ] as const)(
    'is refused by %s with what is left and what was asked',
    async (limit, creditsUsd, terms, message, left) => {
      const call = await openCall(creditsUsd, terms);
      expect(await books.generations.extend(call, '9.5')).toBe(limit);
      expect(await books.generations.refusal(call, limit, '9.5')).toMatchObject({
        code: 'payment_required',
        message,
        metadata: { limit, left_usd: left, reserved_usd: '9.5' },
      });
    },
  );

  it('does not grow once the call is settled or given up', async () => {
    const [settled, abandoned] = [await openCall('10'), await openCall('10')];
    await books.generations.settle([aSettlement(settled, '1')]);
    await books.generations.abandon([abandoned]);
    for (const call of [settled, abandoned]) {
      expect(await books.generations.extend(call, '1')).toBe('closed');
      expect(await heldOf(call)).toBe(0);
    }
  });

  it('grows for 200 calls at once only as far as the credits go', async () => {
    const first = await openCall('260');
    const calls = [first, ...(await atOnce(199, () => openAnother(first)))];
    const verdicts = await atOnce(200, (index) => books.generations.extend(calls[index]!, '1'));
    expect(verdicts.filter((verdict) => verdict === null)).toHaveLength(60);
    expect(verdicts.filter((verdict) => verdict === 'credits')).toHaveLength(140);
    expect(await heldOf(first)).toBe(260);
    await books.generations.settle(calls.map((call) => aSettlement(call, '1')));
    expect(await books.ledger.accountOf(first.organizationId)).toMatchObject({
      balanceUsd: '60.000000000000',
      heldUsd: '0.000000000000',
    });
    expect(await books.ledger.audit()).toEqual([]);
  });
});

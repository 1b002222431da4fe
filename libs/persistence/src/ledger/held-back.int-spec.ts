import { randomBytes, randomUUID } from 'node:crypto';
import { AppError } from '@libs/errors';
import type { GenerationOpening } from '../generations/generation-records';
import { anOpening, aSettlement, booksOfSpec, storeKeyIn } from '../testing';
import type { SpendingLimit } from './key-limit';
import { HeldBack, tryWhileHeldBack } from './held-back';

const LIMIT: SpendingLimit = { amountUsd: '0.07', reset: null, includesByok: false };
const LIMITS = [
  ['the credits', '0.07', {}],
  ['the limit of a key', '10', { keyLimit: LIMIT }],
  ['a budget', '10', { budgets: [LIMIT] }],
] as const;

describe(tryWhileHeldBack.name, () => {
  const books = booksOfSpec();

  /** A call that has 0.045 USD set aside. */
  async function openCall(creditsUsd: string, terms: Partial<GenerationOpening>): Promise<GenerationOpening> {
    const owner = { organizationId: randomUUID(), workspaceId: randomUUID() };
    const apiKeyHash = randomBytes(32).toString('hex');
    await books.ledger.topUp(owner.organizationId, creditsUsd, randomUUID());
    await storeKeyIn(books.database, owner, apiKeyHash);
    const call = anOpening({ ...owner, apiKeyHash, holdUsd: '0.045', ...terms });
    expect((await books.generations.open([call]))[0]!.refusedBy).toBeNull();
    return call;
  }

  /** Asks for more money of the same payer. */
  async function hold(of: GenerationOpening, amountUsd: string, onTry: () => unknown = () => {}) {
    const { organizationId, workspaceId, apiKeyHash, keyLimit, budgets } = of;
    const asked = { organizationId, workspaceId, apiKeyHash, keyLimit, budgets, amountUsd };
    const id = randomUUID();
    const open = async (): Promise<void> => {
      await onTry();
      return books.database.transaction((session) =>
        books.ledger.openHold(session, { ...asked, id, lifetimeMs: 60_000 }),
      );
    };
    return tryWhileHeldBack(organizationId, open).then(
      () => null,
      (error: unknown) => AppError.from(error),
    );
  }

  /** A refusal that the hold of the call explains. */
  const refusalOf = (call: GenerationOpening): Promise<AppError> => books.generations.refusal(call, 'credits', '0.045');

  it.each(LIMITS)('does not count the hold of an answer that is over against %s', async (_name, creditsUsd, terms) => {
    const call = await openCall(creditsUsd, terms);
    // As a gateway does that has just sent the last byte.
    setTimeout(() => void books.generations.settle([aSettlement(call, '0.000001')]), 30);
    expect(await hold(call, '0.045')).toBeNull();
  });

  it.each(LIMITS)('refuses at once what %s would not cover either without holds', async (_name, creditsUsd, terms) => {
    const call = await openCall(creditsUsd, terms);
    let tries = 0;
    expect(await hold(call, '0.08', () => (tries += 1))).toMatchObject({ code: 'payment_required' });
    expect(tries).toBe(1);
    await books.generations.settle([aSettlement(call, '0')]);
  });

  it('tries again while other holds take the place of those that were given back', async () => {
    const first = await openCall('0.07', {});
    const second = anOpening({ ...first, id: anOpening().id });
    let tries = 0;
    const onTry = async (): Promise<void> => {
      tries += 1;
      if (tries === 2) {
        await books.generations.settle([aSettlement(first, '0.000001')]);
        expect((await books.generations.open([second]))[0]!.refusedBy).toBeNull();
      }
      if (tries === 3) await books.generations.settle([aSettlement(second, '0.000001')]);
    };
    expect(await hold(first, '0.045', onTry)).toBeNull();
    expect(tries).toBe(3);
  });

  it('gives up in the end where each try meets other holds', async () => {
    let call = await openCall('1', { keyLimit: LIMIT });
    let tries = 0;
    const onTry = async (): Promise<void> => {
      tries += 1;
      const next = anOpening({ ...call, id: anOpening().id });
      await books.generations.settle([aSettlement(call, '0.000001')]);
      expect((await books.generations.open([next]))[0]!.refusedBy).toBeNull();
      call = next;
    };
    expect(await hold(call, '0.045', onTry)).toMatchObject({ code: 'payment_required' });
    expect(tries).toBe(6);
    await books.generations.settle([aSettlement(call, '0')]);
  });

  it('tries again at once, also while many requests wait, what is covered by the time of its refusal', async () => {
    const call = await openCall('0.07', {});
    const refusal = await refusalOf(call);
    const others = Array.from({ length: 16 }, () => new HeldBack(call.organizationId).afterSettlements(refusal)!);
    let tries = 0;
    const attempt = async (): Promise<void> => {
      tries += 1;
      if (tries > 1) return;
      await books.generations.settle([aSettlement(call, '0.000001')]);
      throw await refusalOf(call);
    };
    await tryWhileHeldBack(call.organizationId, attempt);
    expect(tries).toBe(2);
    await Promise.all(others);
  });

  it('does not try for ever what others take each time', async () => {
    const call = await openCall('0.07', {});
    await books.generations.settle([aSettlement(call, '0.000001')]);
    let tries = 0;
    const attempt = async (): Promise<void> => {
      tries += 1;
      throw await refusalOf(call);
    };
    await expect(tryWhileHeldBack(call.organizationId, attempt)).rejects.toMatchObject({ code: 'payment_required' });
    expect(tries).toBeLessThanOrEqual(30);
  });

  it('lets few requests of an organization wait', async () => {
    const call = await openCall('0.07', {});
    const refusal = await refusalOf(call);
    const { organizationId } = call;
    const ask = (id: string): Promise<void> | null => new HeldBack(id).afterSettlements(refusal);
    const asked = Array.from({ length: 20 }, () => ask(organizationId));
    expect(asked.filter((settled) => settled !== null)).toHaveLength(16);
    const other = ask(randomUUID());
    expect(other).not.toBeNull();
    await Promise.all([...asked, other]);
    const later = ask(organizationId);
    expect(later).not.toBeNull();
    await later;
    await books.generations.settle([aSettlement(call, '0')]);
    expect(await hold(call, '0.045')).toBeNull();
  });
});

import { setImmediate as nextRound } from 'node:timers/promises';
import { AppError } from '@libs/errors';
import { formatUsd, parseUsd } from '@libs/inference';
import {
  noteHeldBack,
  type GenerationOpening,
  type GenerationSettlement,
  type HoldRefusal,
  type OpeningVerdict,
} from '@libs/persistence';
import { GenerationRecorder } from './generation-recorder';
import type { CallOutcome, Opening } from './generation-ticket';

const USD = 1_000_000_000_000n;
const silent = { log() {}, error() {}, warn() {} };

/** The books as PostgreSQL keeps them: a balance per organization, rows by id, every charge once. */
class Books {
  readonly balances = new Map<string, bigint>();
  readonly held = new Map<string, bigint>();
  readonly rows = new Map<string, { state: 'open' | 'settled'; hold: bigint; cost: bigint }>();
  readonly openCalls: string[][] = [];
  readonly settleCalls: string[][] = [];
  /** What is left of limits, by key hash. */
  readonly left = new Map<string, bigint>();
  /** What is left of the budget of the workspace. */
  budgetLeft = 0n;
  /** Thrown instead of an answer. */
  openFailure: Error | null = null;
  settleFailure: Error | null = null;
  /** Answers wait for this promise. */
  gate: Promise<void> = Promise.resolve();

  async open(openings: readonly GenerationOpening[]): Promise<OpeningVerdict[]> {
    this.openCalls.push(openings.map(({ id }) => id));
    await this.gate;
    if (this.openFailure) throw this.openFailure;
    const byOrganization = Map.groupBy(openings, ({ organizationId }) => organizationId);
    const verdicts = new Map([...byOrganization].map(([payer, group]) => [payer, this.openGroup(payer, group)]));
    return openings.map(({ organizationId }) => verdicts.get(organizationId)!);
  }

  readonly extended: Opening[] = [];

  async extend(call: Opening, amountUsd: string): Promise<HoldRefusal | 'closed' | null> {
    this.extended.push(call);
    const { id, organizationId } = call;
    await this.gate;
    const amount = parseUsd(amountUsd);
    const row = this.rows.get(id);
    if (row?.state !== 'open') return 'closed';
    if (this.balanceOf(organizationId) - this.heldBy(organizationId) < amount) return 'credits';
    this.held.set(organizationId, this.heldBy(organizationId) + amount);
    this.rows.set(id, { ...row, hold: row.hold + amount });
    return null;
  }

  async lockedAmong(): Promise<ReadonlySet<string>> {
    return new Set();
  }

  async refusal({ organizationId, apiKeyHash }: Opening, by: HoldRefusal, amountUsd: string): Promise<AppError> {
    const left = {
      key_limit: this.left.get(apiKeyHash) ?? 0n,
      budget: this.budgetLeft,
      credits: this.balanceOf(organizationId) - this.heldBy(organizationId),
    }[by];
    const reason = by === 'key_limit' ? 'The limit of the key' : 'Insufficient credits';
    const error = new AppError('payment_required', reason, { metadata: { left_usd: formatUsd(left) } });
    return this.balanceOf(organizationId) >= parseUsd(amountUsd) ? noteHeldBack(error) : error;
  }

  async settle(settlements: readonly GenerationSettlement[]): Promise<number> {
    this.settleCalls.push(settlements.map(({ id }) => id));
    await this.gate;
    if (this.settleFailure) throw this.settleFailure;
    expect(new Set(settlements.map(({ id }) => id)).size).toBe(settlements.length);
    for (const { id, organizationId, costUsd } of settlements) {
      if (id.startsWith('poison')) throw Object.assign(new Error('bad row'), { code: '22003' });
      const row = this.rows.get(id) ?? { state: 'open', hold: 0n, cost: 0n };
      if (row.state === 'settled') continue;
      const cost = parseUsd(costUsd);
      this.held.set(organizationId, this.heldBy(organizationId) - row.hold);
      this.balances.set(organizationId, this.balanceOf(organizationId) - cost);
      this.rows.set(id, { ...row, state: 'settled', cost });
    }
    return settlements.length;
  }

  balanceOf(organizationId: string): bigint {
    return this.balances.get(organizationId) ?? 0n;
  }

  heldBy(organizationId: string): bigint {
    return this.held.get(organizationId) ?? 0n;
  }

  private openGroup(organizationId: string, group: readonly GenerationOpening[]): OpeningVerdict {
    const [{ apiKeyHash, keyLimit }] = group as [GenerationOpening];
    const sum = group.reduce((total, { holdUsd }) => total + parseUsd(holdUsd), 0n);
    const left = keyLimit === null ? null : (this.left.get(apiKeyHash) ?? 0n) - sum;
    if (left !== null && left < 0n) return { refusedBy: 'key_limit' };
    const available = this.balanceOf(organizationId) - this.heldBy(organizationId);
    if (available < sum) return { refusedBy: 'credits' };
    this.held.set(organizationId, this.heldBy(organizationId) + sum);
    if (left !== null) this.left.set(apiKeyHash, left);
    for (const { id, holdUsd } of group) {
      if (this.rows.has(id)) throw new Error(`row ${id} is there already`);
      this.rows.set(id, { state: 'open', hold: parseUsd(holdUsd), cost: 0n });
    }
    const availableUsd = String(Number((available - sum) / 1_000_000n) / 1_000_000);
    const keyLeftUsd = left === null ? null : formatUsd(left);
    return { refusedBy: null, availableUsd, keyLeftUsd };
  }
}

const opening = (id: string, organizationId = 'acme'): Opening => ({
  id,
  createdOn: '2026-11-21',
  organizationId,
  workspaceId: 'w',
  apiKeyHash: 'h',
  api: 'chat',
  model: 'm',
  streamed: false,
  keyLimit: null,
});

const costing = (costPicoUsd: bigint): CallOutcome => ({
  provider: 'p',
  upstreamModel: 'u',
  upstreamId: null,
  statusCode: 200,
  outcome: 'completed',
  finishReason: 'stop',
  usageProvenance: 'upstream',
  promptTokens: 1,
  completionTokens: 1,
  cachedTokens: 0,
  reasoningTokens: 0,
  costUsd: (Number(costPicoUsd) / 1e12).toFixed(6).replace(/\.?0+$/, ''),
  costPicoUsd,
  latencyMs: 1,
  generationMs: 1,
  details: { attempts: [] },
});

/** Long enough for the recorder to have decided whatever it can. */
const settledRounds = async (): Promise<void> => {
  for (let round = 0; round < 100; round += 1) await nextRound();
};

describe(GenerationRecorder.name, () => {
  let books: Books;
  let recorder: GenerationRecorder;
  let nowMs: number;
  /** Charges that would be written down if they had to wait for long. */
  let waiting: Set<string>;

  beforeEach(() => {
    books = new Books();
    nowMs = 0;
    waiting = new Set();
    const delayed = {
      add: ({ id }: { readonly id: string }) => void waiting.add(id),
      done: ({ id }: { readonly id: string }) => void waiting.delete(id),
    };
    recorder = new GenerationRecorder(books, async (opening) => opening, silent, { delayed, nowMs: () => nowMs });
  });

  /** Lets the recorder learn that the organization has plenty. */
  const makeKnown = async (organizationId = 'acme', balance = 100n * USD): Promise<void> => {
    books.balances.set(organizationId, balance);
    const ticket = recorder.open(opening(`first ${organizationId}`, organizationId), 1n);
    await ticket.covered;
    ticket.settle(costing(0n));
    await recorder.flush();
    books.openCalls.length = 0;
    books.settleCalls.length = 0;
  };

  it('starts calls early only while charges leave half of the room to calls whose hold is written first', async () => {
    await makeKnown('acme', 1_000_000n * USD);
    await makeKnown('other', 1_000_000n * USD);
    books.settleFailure = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
    let started = 0;
    for (; started < 10_000; started += 1) {
      const ticket = recorder.open(opening(`early ${started}`), 1n);
      if (ticket.covered !== null) break;
      ticket.settle(costing(1n));
    }
    expect(started).toBe(5_000);
    const other = recorder.open(opening('an other', 'other'), 1n);
    expect(other.covered).not.toBeNull();
    await other.covered;
  });

  describe('a call that may cost more than its files say', () => {
    const openUncertain = (id: string, most = 10n * USD) => recorder.open(opening(id), USD / 10n, null, most);

    it('holds the most that it may cost', async () => {
      books.balances.set('acme', 30n * USD);
      await openUncertain('a').covered;
      expect(books.rows.get('a')).toMatchObject({ hold: 10n * USD });
    });

    it('holds half of the credits where they are less, and others wait until it is paid', async () => {
      books.balances.set('acme', 3n * USD);
      const tickets = ['a', 'b', 'c'].map((id) => openUncertain(id));
      for (const [turn, half] of [USD, USD / 2n, USD / 4n].entries()) {
        const next = await Promise.race(tickets.map(async (ticket) => ticket.covered?.then(() => ticket)));
        const left = 2n * half + (turn === 0 ? USD : 0n);
        expect([...books.rows.values()].filter(({ state }) => state === 'open')).toEqual([
          { state: 'open', hold: left / 2n, cost: 0n },
        ]);
        tickets.splice(tickets.indexOf(next!), 1);
        next!.settle(costing(left - half));
        await recorder.flush();
      }
    });

    it('is refused where the one before it has used the credits up', async () => {
      books.balances.set('acme', 3n * USD);
      const first = openUncertain('a');
      await first.covered;
      const second = openUncertain('b').covered;
      first.settle(costing(5n * USD));
      await expect(second).rejects.toMatchObject({ code: 'payment_required' });
    });

    it('leaves the other half to calls whose cost is known', async () => {
      books.balances.set('acme', 3n * USD);
      await openUncertain('a').covered;
      await recorder.open(opening('text'), USD).covered;
      expect(books.rows.get('text')).toMatchObject({ state: 'open', hold: USD });
    });

    it('holds the least that it may cost where that is more than half', async () => {
      books.balances.set('acme', 3n * USD);
      await recorder.open(opening('a'), 2n * USD, null, 10n * USD).covered;
      expect(books.rows.get('a')).toMatchObject({ hold: 2n * USD });
    });

    it('keeps others out until its charge is committed', async () => {
      books.balances.set('acme', 3n * USD);
      const first = openUncertain('a');
      await first.covered;
      books.settleFailure = new Error('PostgreSQL is away');
      first.settle(costing(USD / 10n));
      const second = openUncertain('b').covered;
      await settledRounds();
      expect([...books.rows.keys()]).toEqual(['a']);
      books.settleFailure = null;
      await second;
      expect(books.rows.get('b')).toMatchObject({ state: 'open' });
    });

    it('keeps no place among those that wait once its caller has left', async () => {
      books.balances.set('acme', 3n * USD);
      const first = openUncertain('a');
      await first.covered;
      const left = openUncertain('b');
      await settledRounds();
      left.withdraw(costing(0n));
      first.settle(costing(0n));
      await recorder.flush();
      await openUncertain('c').covered;
      expect([...books.rows.keys()]).toEqual(['a', 'c']);
    });

    it('is alone in that also when others have given back what they held', async () => {
      books.balances.set('acme', 3n * USD);
      const text = recorder.open(opening('text'), 2n * USD);
      await text.covered;
      const first = openUncertain('a');
      await first.covered;
      text.settle(costing(0n));
      await recorder.flush();
      const second = openUncertain('b').covered;
      await settledRounds();
      expect([...books.rows.keys()]).toEqual(['text', 'a']);
      expect(books.rows.get('a')).toMatchObject({ hold: USD / 2n });
      first.settle(costing(0n));
      await second;
      expect(books.rows.get('b')).toMatchObject({ hold: (3n * USD) / 2n });
    });

    it('keeps no others out when its caller has left before it was opened', async () => {
      books.balances.set('acme', 3n * USD);
      const gate = Promise.withResolvers<void>();
      books.gate = gate.promise;
      const left = openUncertain('a');
      await nextRound();
      left.withdraw(costing(0n));
      gate.resolve();
      await recorder.flush();
      await openUncertain('b').covered;
      expect(books.rows.get('b')).toMatchObject({ state: 'open', hold: (3n * USD) / 2n });
    });

    it('holds half of the limit of its key', async () => {
      books.balances.set('acme', 100n * USD);
      books.left.set('h', 2n * USD);
      const limited = { ...opening('a'), keyLimit: { amountUsd: '2', reset: null, includesByok: false } };
      await recorder.open(limited, USD / 2n, null, 10n * USD).covered;
      expect(books.rows.get('a')).toMatchObject({ hold: USD });
    });

    it('is the only one of a key whose limit keeps it from the most, however high the credits', async () => {
      books.balances.set('acme', 10_000n * USD);
      books.left.set('h', 2n * USD);
      const keyLimit = { amountUsd: '2', reset: null, includesByok: false };
      const openLimited = (id: string) => recorder.open({ ...opening(id), keyLimit }, USD / 10n, null, 10n * USD);
      const tickets = ['a', 'b', 'c'].map(openLimited);
      await Promise.race(tickets.map(async ({ covered }) => covered));
      await settledRounds();
      expect(books.rows.size).toBe(1);
      for (const ticket of tickets) ticket.withdraw(costing(0n));
    });

    it('is one of several that limits of keys keep from it where the credits are far above what they may cost', async () => {
      books.balances.set('acme', 1_000n * USD);
      const keyLimit = { amountUsd: '2', reset: null, includesByok: false };
      const openWith = (apiKeyHash: string) => {
        books.left.set(apiKeyHash, 2n * USD);
        return recorder.open({ ...opening(apiKeyHash), apiKeyHash, keyLimit }, USD, null, 10n * USD);
      };
      const tickets = Array.from({ length: 10 }, (_, nth) => openWith(`key ${nth}`));
      await settledRounds();
      // Each call lacks 9 USD. The credits must be 20 times what all of them lack.
      expect(books.rows.size).toBe(5);
      for (const ticket of tickets) ticket.withdraw(costing(0n));
    });

    it('is one of several of a workspace only while its budget is far above what they may cost', async () => {
      books.balances.set('acme', 10_000n * USD);
      books.budgetLeft = 400n * USD;
      const keyLimit = { amountUsd: '2', reset: null, includesByok: false };
      const budgets = [{ amountUsd: '400', reset: null, includesByok: false }];
      const openWith = (apiKeyHash: string) => {
        books.left.set(apiKeyHash, 2n * USD);
        return recorder.open({ ...opening(apiKeyHash), apiKeyHash, keyLimit, budgets }, USD, null, 10n * USD);
      };
      const tickets = Array.from({ length: 9 }, (_, nth) => openWith(`key ${nth}`));
      await settledRounds();
      // Each call lacks 9 USD. What is left of the budget must be 20 times what all of them lack.
      expect(books.rows.size).toBe(2);
      for (const ticket of tickets) ticket.withdraw(costing(0n));
    });

    it('counts as lacking all that it may cost, however often its hold was lowered', async () => {
      books.balances.set('acme', 250n * USD);
      const keyLimit = { amountUsd: '2', reset: null, includesByok: false };
      const openWith = (apiKeyHash: string) => {
        books.left.set(apiKeyHash, 2n * USD);
        return recorder.open({ ...opening(apiKeyHash), apiKeyHash, keyLimit }, USD / 10n, null, 10n * USD);
      };
      const open = books.open.bind(books);
      books.open = async (openings) => {
        // A call of the key at another gateway comes before the second try.
        if (books.openCalls.length === 1) books.left.set('one', USD / 2n);
        return open(openings);
      };
      const first = openWith('one');
      await first.covered;
      expect(books.rows.get('one')).toMatchObject({ hold: USD / 4n });
      const second = openWith('two');
      await settledRounds();
      // Both lack 18.75 USD, and the credits are less than 20 times that.
      expect([...books.rows.keys()]).toEqual(['one']);
      for (const ticket of [first, second]) ticket.withdraw(costing(0n));
    });

    it('is the only one of its organization that the limit of a key keeps from it where they are not', async () => {
      books.balances.set('acme', 100n * USD);
      const keyLimit = { amountUsd: '2', reset: null, includesByok: false };
      const openWith = (apiKeyHash: string) => {
        books.left.set(apiKeyHash, 2n * USD);
        return recorder.open({ ...opening(apiKeyHash), apiKeyHash, keyLimit }, USD, null, 10n * USD);
      };
      const first = openWith('one');
      await first.covered;
      const second = openWith('two').covered;
      await settledRounds();
      expect([...books.rows.keys()]).toEqual(['one']);
      first.settle(costing(USD));
      await second;
      expect([...books.rows.keys()]).toEqual(['one', 'two']);
    });

    it('is refused where what it says of itself is not covered, with that amount', async () => {
      books.balances.set('acme', USD / 100n);
      await expect(openUncertain('a').covered).rejects.toMatchObject({ code: 'payment_required' });
      expect(books.rows.size).toBe(0);
    });

    it('lets the next one begin when it is settled', async () => {
      books.balances.set('acme', 3n * USD);
      const first = openUncertain('a');
      await first.covered;
      first.settle(costing(USD / 10n));
      await recorder.flush();
      await openUncertain('b').covered;
      expect(books.rows.get('b')).toMatchObject({ hold: (29n * USD) / 20n });
    });
  });

  it('makes the first call of an organization wait for its hold', async () => {
    books.balances.set('acme', 5n * USD);
    const ticket = recorder.open(opening('a'), USD);
    expect(ticket.covered).not.toBeNull();
    await ticket.covered;
    expect(books.heldBy('acme')).toBe(USD);
    ticket.settle(costing(USD / 2n));
    await recorder.flush();
    expect(books).toMatchObject({ rows: new Map([['a', { state: 'settled', hold: USD, cost: USD / 2n }]]) });
    expect([books.balanceOf('acme'), books.heldBy('acme')]).toEqual([(9n * USD) / 2n, 0n]);
  });

  it('refuses a call whose organization has too little or no account', async () => {
    const ticket = recorder.open(opening('a'), USD);
    await expect(ticket.covered).rejects.toMatchObject({ code: 'payment_required' });
    ticket.settle(costing(0n));
    await recorder.flush();
    expect(books.settleCalls).toEqual([]);
  });

  it('lets charges on their way reach the books before it refuses a call', async () => {
    books.balances.set('acme', USD);
    for (const id of ['a', 'b', 'c', 'd']) {
      const ticket = recorder.open(opening(id), (9n * USD) / 10n);
      await ticket.covered;
      ticket.settle(costing(USD / 100n));
    }
    await recorder.flush();
    expect([books.balanceOf('acme'), books.heldBy('acme')]).toEqual([(96n * USD) / 100n, 0n]);
  });

  it('does not count the hold of an answer of another gateway that is over', async () => {
    books.balances.set('acme', USD);
    const other = new GenerationRecorder(books, async (opening) => opening, silent, { nowMs: () => nowMs });
    for (let i = 0; i < 4; i += 1) {
      const ticket = [recorder, other][i % 2]!.open(opening(`a${i}`), (9n * USD) / 10n);
      await ticket.covered;
      ticket.settle(costing(USD / 1_000n));
    }
    await Promise.all([recorder.flush(), other.flush()]);
    expect(books.heldBy('acme')).toBe(0n);
  });

  it('extends a hold once the hold of an answer that is over has been given back', async () => {
    books.balances.set('acme', USD);
    const [first, second] = [recorder.open(opening('a'), USD / 2n), recorder.open(opening('b'), USD / 2n)];
    await Promise.all([first.covered, second.covered]);
    first.settle(costing(USD / 1_000n));
    await second.cover((9n * USD) / 10n);
    expect(second.holdPicoUsd).toBe((9n * USD) / 10n);
  });

  it('extends a hold by the terms of now, and not for a key that can no longer be used', async () => {
    books.balances.set('acme', 10n * USD);
    const keyLimit = { amountUsd: '0.05', reset: null, includesByok: false };
    let isUsable = true;
    const terms = async (call: Opening): Promise<Opening> => {
      if (!isUsable) {
        throw new AppError('authentication', 'The API key of this request is disabled, deleted or expired');
      }
      return { ...call, keyLimit };
    };
    const other = new GenerationRecorder(books, terms, silent, { nowMs: () => nowMs });
    const ticket = other.open(opening('a'), USD);
    await ticket.covered;
    await ticket.cover(2n * USD);
    expect(books.extended).toEqual([expect.objectContaining({ id: 'a', keyLimit })]);
    isUsable = false;
    await expect(ticket.cover(3n * USD)).rejects.toMatchObject({ code: 'authentication' });
    expect(ticket.holdPicoUsd).toBe(2n * USD);
  });

  it('refuses a call soon when the charges before it cannot be committed', async () => {
    books.balances.set('acme', USD);
    const first = recorder.open(opening('a'), USD);
    await first.covered;
    books.settleFailure = new Error('PostgreSQL is away');
    first.settle(costing(USD / 100n));
    await expect(recorder.open(opening('b'), USD).covered).rejects.toMatchObject({ code: 'payment_required' });
    expect(books.openCalls).toEqual([['a'], ['b'], ['b']]);
    books.settleFailure = null;
    await recorder.flush();
  });

  it('refuses a call at once that no given back hold would leave enough for', async () => {
    books.balances.set('acme', USD);
    await recorder.open(opening('a'), USD).covered;
    await expect(recorder.open(opening('b'), USD + 1n).covered).rejects.toMatchObject({ code: 'payment_required' });
    expect(books.openCalls).toEqual([['a'], ['b']]);
  });

  it('grants calls of the same moment as long as the money lasts', async () => {
    books.balances.set('acme', 10n * USD);
    books.balances.set('other', 10n * USD);
    const tickets = Array.from({ length: 50 }, (_, i) => recorder.open(opening(`a${i}`), USD));
    const other = recorder.open(opening('b', 'other'), USD);
    await other.covered;
    const granted = await Promise.allSettled(tickets.map(async ({ covered }) => covered));
    expect(granted.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(books.heldBy('acme')).toBe(10n * USD);
  });

  it('grants calls of the same moment as long as the limit of their key lasts, and says what refused the others', async () => {
    books.balances.set('acme', 1_000n * USD);
    books.left.set('h', 10n * USD);
    const keyLimit = { amountUsd: '10', reset: null, includesByok: false };
    const tickets = Array.from({ length: 50 }, (_, i) => recorder.open({ ...opening(`a${i}`), keyLimit }, USD));
    const granted = await Promise.allSettled(tickets.map(async ({ covered }) => covered));
    expect(granted.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(tickets[49]?.refusal).toMatchObject({ code: 'payment_required', message: expect.stringContaining('limit') });
    expect(books.left.get('h')).toBe(0n);
  });

  it('lets no call of a key go ahead whose limit it would come near', async () => {
    await makeKnown();
    books.left.set('h', 30n * USD);
    const limited = { ...opening('a'), keyLimit: { amountUsd: '30', reset: null, includesByok: false } } as const;
    const first = recorder.open(limited, USD);
    expect(first.covered).not.toBeNull();
    await first.covered;
    expect(recorder.open({ ...limited, id: 'b' }, USD).covered).toBeNull();
    expect(recorder.open({ ...limited, id: 'c' }, 2n * USD).covered).not.toBeNull();
  });

  it('writes what comes together in one statement, and what waits behind it in the next', async () => {
    books.balances.set('acme', 1_000n * USD);
    const { promise, resolve } = Promise.withResolvers<void>();
    books.gate = promise;
    const first = ['a', 'b', 'c'].map((id) => recorder.open(opening(id), 1n));
    await nextRound();
    await nextRound();
    const second = ['d', 'e'].map((id) => recorder.open(opening(id), 1n));
    resolve();
    await Promise.all([...first, ...second].map(async ({ covered }) => covered));
    expect(books.openCalls).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]);
  });

  describe('when the organization is known to have plenty', () => {
    beforeEach(() => makeKnown());

    it('lets the call go ahead of its hold and writes the hold beside it', async () => {
      const ticket = recorder.open(opening('a'), USD);
      expect(ticket.covered).toBeNull();
      await recorder.flush();
      expect(books.rows.get('a')).toMatchObject({ state: 'open', hold: USD });
      ticket.settle(costing(USD));
      await recorder.flush();
      expect([books.balanceOf('acme'), books.heldBy('acme')]).toEqual([99n * USD, 0n]);
    });

    it('writes only the charge of a call that is over before its row was written', async () => {
      const ticket = recorder.open(opening('a'), USD);
      ticket.settle(costing(USD));
      await recorder.flush();
      expect(books.openCalls).toEqual([]);
      expect(books.settleCalls).toEqual([['a']]);
      expect(books.balanceOf('acme')).toBe(99n * USD);
    });

    it('reads the ledger again after such a call with the hold of a later one, which does not wait', async () => {
      recorder.open(opening('a'), USD).settle(costing(USD));
      await recorder.flush();
      // Another gateway spends nearly everything.
      books.balances.set('acme', 2n * USD);
      nowMs += 100;
      const later = recorder.open(opening('b'), USD);
      expect(later.covered).toBeNull();
      await settledRounds();
      expect(books.openCalls).toEqual([['b']]);
      expect(recorder.open(opening('c'), USD).covered).not.toBeNull();
    });

    it('writes nothing at all for a call that was withdrawn in time', async () => {
      recorder.open(opening('a'), USD).withdraw(costing(0n));
      await recorder.flush();
      expect(books.openCalls).toEqual([]);
      expect(books.settleCalls).toEqual([]);
    });

    it('lets a charge wait for the row that is being written, and never beside it', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      books.gate = promise;
      const ticket = recorder.open(opening('a'), USD);
      while (books.openCalls.length === 0) await nextRound();
      ticket.settle(costing(USD));
      for (let i = 0; i < 5; i += 1) await nextRound();
      expect(books.settleCalls).toEqual([]);
      expect([...waiting]).toEqual(['a']);
      resolve();
      await recorder.flush();
      expect(books.rows.get('a')).toEqual({ state: 'settled', hold: USD, cost: USD });
      expect(books.heldBy('acme')).toBe(0n);
      expect([...waiting]).toEqual([]);
    });

    it('leaves nothing to be written down of a call without a cost whose hold was refused after it', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      books.gate = promise;
      books.balances.set('acme', 0n);
      const ticket = recorder.open(opening('a'), USD);
      while (books.openCalls.length === 0) await nextRound();
      ticket.settle(costing(0n));
      expect([...waiting]).toEqual(['a']);
      resolve();
      await recorder.flush();
      expect([[...waiting], books.settleCalls]).toEqual([[], []]);
    });

    it('ends a call that went ahead when its hold fails after all', async () => {
      books.balances.set('acme', 0n);
      const ticket = recorder.open(opening('a'), USD);
      const refused = new Promise<void>((resolve) => ticket.onRefused(resolve));
      await refused;
      expect(ticket.refusal).toMatchObject({ code: 'payment_required' });
      ticket.settle(costing(0n));
      await recorder.flush();
      expect(books.settleCalls).toEqual([]);
      const next = recorder.open(opening('b'), USD);
      await expect(next.covered).rejects.toMatchObject({ code: 'payment_required' });
    });

    it('charges what a call used although its hold had failed', async () => {
      books.balances.set('acme', 0n);
      const ticket = recorder.open(opening('a'), USD);
      await new Promise<void>((resolve) => ticket.onRefused(resolve));
      ticket.settle(costing(USD));
      await recorder.flush();
      expect(books.balanceOf('acme')).toBe(-USD);
    });

    it('asks again when the hold is not clearly covered, counting what has started meanwhile', async () => {
      expect(recorder.open(opening('large'), 6n * USD).covered).not.toBeNull();
      const tickets = Array.from({ length: 30 }, (_, i) => recorder.open(opening(`a${i}`), 4n * USD));
      const ahead = tickets.filter(({ covered }) => covered === null);
      expect(ahead.length).toBeLessThanOrEqual(6);
      await recorder.flush();
      expect(books.balanceOf('acme') - books.heldBy('acme')).toBeGreaterThanOrEqual(0n);
    });

    it('lets calls together go ahead with a twentieth while holds get no answer, those that are over included', async () => {
      books.openFailure = Object.assign(new Error('locked'), { code: '57014' });
      const wentAhead: number[] = [];
      for (let index = 0; index < 30; index += 1) {
        const ticket = recorder.open(opening(`a${index}`), USD / 2n);
        if (ticket.covered === null) wentAhead.push(index);
        else ticket.covered.catch(() => undefined);
        await settledRounds();
        nowMs += 30;
        if (index % 2 === 0) ticket.settle(costing(USD / 2n));
      }
      expect(wentAhead.length).toBeLessThanOrEqual(10);
      expect(wentAhead.length).toBeGreaterThan(5);
      books.openFailure = null;
      await recorder.flush();
    });

    it('counts other calls on when one is over whose hold got no answer and was extended', async () => {
      books.openFailure = Object.assign(new Error('locked'), { code: '57014' });
      const [extended, other] = ['a', 'b'].map((id) => recorder.open(opening(id), 2n * USD));
      await Promise.all([extended!.decided(), other!.decided()]);
      expect([extended!.state, other!.state]).toEqual(['unknown', 'unknown']);
      books.openFailure = null;
      books.rows.set('a', { state: 'open', hold: 2n * USD, cost: 0n });
      await extended!.cover(4n * USD);
      extended!.settle(costing(0n));
      await recorder.flush();
      // 94 USD are known, and two of the other call count: 2.7 more is the most that may start.
      expect(recorder.open(opening('c'), 3n * USD).covered).not.toBeNull();
      other!.settle(costing(0n));
      await recorder.flush();
    });

    it('counts charges that the ledger lacks when a hold reads it', async () => {
      books.settleFailure = Object.assign(new Error('locked'), { code: '57014' });
      let wentAhead = 0;
      for (let index = 0; index < 40; index += 1, nowMs += 40) {
        const ticket = recorder.open(opening(`a${index}`), USD / 2n);
        if (ticket.covered === null) wentAhead += 1;
        else await ticket.covered.catch(() => undefined);
        ticket.settle(costing(USD / 2n));
        await settledRounds();
      }
      expect(wentAhead).toBeLessThanOrEqual(10);
      books.settleFailure = null;
      await recorder.flush();
    });

    it('counts what was charged since the ledger was asked, because its answer may lack that', async () => {
      const asked = Promise.withResolvers<void>();
      const open = books.open.bind(books);
      books.open = async (openings) => {
        const verdicts = await open(openings);
        await asked.promise;
        return verdicts;
      };
      const slow = recorder.open(opening('slow'), 5n * USD, null, 6n * USD);
      await settledRounds();
      // Each is over before its row is written, and its charge is committed at once.
      for (let index = 0; index < 4; index += 1) {
        const ticket = recorder.open(opening(`a${index}`), USD);
        expect(ticket.covered).toBeNull();
        ticket.settle(costing(USD));
      }
      while ([...books.rows.values()].filter(({ state }) => state === 'settled').length < 5) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      asked.resolve();
      await slow.covered;
      expect(recorder.open(opening('b'), USD).covered).not.toBeNull();
      slow.settle(costing(0n));
      await recorder.flush();
    });

    it('asks again after ten seconds, because others spend too', () => {
      nowMs = 10_001;
      expect(recorder.open(opening('a'), 1n).covered).not.toBeNull();
    });
  });

  describe('while PostgreSQL is away', () => {
    it('fails calls that wait for their hold', async () => {
      books.openFailure = new Error('connection refused');
      await expect(recorder.open(opening('a'), 1n).covered).rejects.toMatchObject({ code: 'server' });
    });

    it('lets calls go on that are ahead, and charges them when it is back', async () => {
      await makeKnown();
      books.openFailure = new Error('connection refused');
      books.settleFailure = new Error('connection refused');
      const ticket = recorder.open(opening('a'), USD);
      while (books.openCalls.length === 0) await nextRound();
      await nextRound();
      expect(ticket.refusal).toBeNull();
      ticket.settle(costing(USD));
      while (books.settleCalls.length < 2) await nextRound();
      expect(recorder.waiting).toBe(1);
      books.settleFailure = null;
      await recorder.flush();
      expect(books.balanceOf('acme')).toBe(99n * USD);
    });

    it('refuses new calls when ten thousand charges wait', async () => {
      await makeKnown();
      books.settleFailure = new Error('connection refused');
      for (let i = 0; i < 10_000; i += 1) recorder.open(opening(`a${i}`), 0n).settle(costing(1_000_000n));
      expect(() => recorder.open(opening('b'), 1n)).toThrow(
        new AppError('provider_overloaded', 'The service is overloaded'),
      );
      books.settleFailure = null;
      await recorder.flush();
      expect(books.rows.size).toBe(10_001);
      expect(Math.max(...books.settleCalls.map(({ length }) => length))).toBe(500);
    });
  });

  it('does not let one charge that the database refuses hold up the others', async () => {
    await makeKnown();
    for (const id of ['a', 'poison', 'b']) recorder.open(opening(id), 0n).settle(costing(USD));
    await recorder.flush();
    expect(books.balanceOf('acme')).toBe(98n * USD);
    expect(recorder.waiting).toBe(0);
  });

  it('charges a call once, however often it is ended', async () => {
    await makeKnown();
    const ticket = recorder.open(opening('a'), USD);
    ticket.settle(costing(USD));
    ticket.settle(costing(USD));
    ticket.withdraw(costing(0n));
    await recorder.flush();
    expect(books.balanceOf('acme')).toBe(99n * USD);
  });
});

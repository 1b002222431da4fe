import { EdgePools } from './edge-pools';
import { MemoryBudget } from './memory-budget';
import { RequestClaim, type Claimant } from './request-claim';

const A = ['a', 'organization-a'];
const B = ['b', 'organization-b'];
const ofA: Claimant = { isPublic: false, holders: A };
const ofB: Claimant = { isPublic: false, holders: B };

describe(MemoryBudget.name, () => {
  it('gives one workspace two thirds at most', () => {
    const budget = new MemoryBudget(90);
    let taken = 0;
    while (budget.take(A, 10)) taken += 10;
    expect(taken).toBe(60);
    expect(budget.take(B, 10)).toBe(true);
  });

  it('is not held by a few large bodies of several workspaces: small requests of others find room', () => {
    const MIB = 1024 * 1024;
    const budget = new MemoryBudget(512 * MIB);
    const bodies = ['a', 'b', 'c', 'd', 'e'].map((name) => budget.take([name, `organization-${name}`], 160 * MIB));
    expect(bodies).toEqual([true, true, false, false, false]);
    expect(budget.take(['z', 'organization-z'], 64 * MIB)).toBe(true);
    expect(budget.take(['y', 'organization-y'], MIB)).toBe(true);
  });

  it('lets a request wait until another one has ended', async () => {
    const budget = new MemoryBudget(10);
    expect(budget.take(A, 10)).toBe(true);
    const waits = budget.wait(B, 5);
    expect(budget.waiting).toBe(1);
    budget.give(A, 10);
    expect(await waits).toBe(true);
    expect([budget.reserved, budget.waiting]).toEqual([5, 0]);
  });

  it('lets nothing wait longer than it may', async () => {
    const budget = new MemoryBudget(10, { longestWaitMs: 20 });
    budget.take(A, 10);
    expect(await budget.wait(B, 5)).toBe(false);
    expect([budget.reserved, budget.waiting]).toEqual([10, 0]);
  });

  it('lets only so many wait, and not all of one workspace', async () => {
    const budget = new MemoryBudget(10, { longestWaitMs: 50, mostWaiting: 9 });
    budget.take(A, 10);
    const waits = Array.from({ length: 20 }, () => budget.wait(A, 5));
    expect(budget.waiting).toBe(6);
    const other = budget.wait(B, 5);
    expect(budget.waiting).toBe(7);
    expect(await Promise.all([...waits, other])).not.toContain(true);
    expect(budget.waiting).toBe(0);
  });
});

describe(RequestClaim.name, () => {
  const small = (): EdgePools => new EdgePools({ inFlight: 10, arriving: 10, memoryBytes: 100 });
  const workingOf = (pools: EdgePools, claimant: Claimant): RequestClaim => {
    const claim = new RequestClaim(pools);
    claim.work(claimant);
    return claim;
  };

  it('refuses for good what a workspace could never hold, and waits for what it could', async () => {
    const pools = new EdgePools({ memoryBytes: 90 });
    const claim = new RequestClaim(pools);
    await claim.reserve(ofA, 20);
    const refused = { code: 'payload_too_large' };
    expect(() => claim.reserveParsed(ofA, 20, 41)).toThrow(expect.objectContaining(refused));
    expect(claim.reserveParsed(ofA, 20, 40)).toBeUndefined();
    expect(pools.memory.reserved).toBe(60);
    expect(() => claim.grow(ofA, 61)).toThrow(expect.objectContaining(refused));
    const whole = new RequestClaim(new EdgePools({ memoryBytes: 90 }));
    expect(whole.reserveParsed(ofA, 200, 0)).toBeUndefined();
  });

  it('gives everything back when the request is over', async () => {
    const pools = small();
    const claim = new RequestClaim(pools);
    claim.arrive(ofA);
    await claim.reserve(ofA, 50);
    claim.work(ofA);
    expect([pools.arriving.taken, pools.working.taken, pools.memory.reserved]).toEqual([0, 1, 50]);
    claim.release();
    expect([pools.arriving.taken, pools.working.taken, pools.memory.reserved]).toEqual([0, 0, 0]);
  });

  it('takes nothing for a caller who has left', async () => {
    const pools = small();
    const claim = new RequestClaim(pools);
    claim.release();
    claim.arrive(ofA);
    claim.work(ofA);
    await claim.reserve(ofA, 50);
    expect([pools.arriving.taken, pools.working.taken, pools.memory.reserved]).toEqual([0, 0, 0]);
  });

  it('gives back what was granted after its caller had left', async () => {
    const pools = small();
    const [first, second] = [new RequestClaim(pools), new RequestClaim(pools)];
    await first.reserve(ofA, 100);
    const waits = second.reserve(ofB, 50);
    second.release();
    first.release();
    await waits;
    expect(pools.memory.reserved).toBe(0);
  });

  it('lets a request that is larger than the budget have most of it, and leaves room for small ones of others', async () => {
    const pools = small();
    const claim = new RequestClaim(pools);
    await claim.reserve(ofA, 1_000);
    expect(pools.memory.reserved).toBe(66);
    await new RequestClaim(pools).reserve(ofB, 34);
    expect(pools.memory.reserved).toBe(100);
  });

  it('refuses a body that grows beyond what is left', async () => {
    const pools = small();
    const [first, second] = [new RequestClaim(pools), new RequestClaim(pools)];
    await first.reserve(ofA, 60);
    await second.reserve(ofB, 10);
    expect(() => second.grow(ofB, 60)).toThrow(expect.objectContaining({ code: 'provider_overloaded' }));
    second.grow(ofB, 20);
    expect(pools.memory.reserved).toBe(80);
  });

  it('counts an answer that its caller has not read against its workspace', async () => {
    const pools = small();
    const [first, second] = [new RequestClaim(pools), new RequestClaim(pools)];
    await first.reserve(ofA, 10);
    first.keep(150);
    expect(pools.memory.reserved).toBe(150);
    expect(pools.memory.take(A, 1)).toBe(false);
    first.release();
    await second.reserve(ofA, 10);
    expect(pools.memory.reserved).toBe(10);
  });

  it('adds what is fetched for a request to its body, as fairly as bodies share', async () => {
    const pools = small();
    const [first, second] = [workingOf(pools, ofA), workingOf(pools, ofB)];
    await first.reserve(ofA, 20);
    expect(first.add(30)).toBeUndefined();
    expect(pools.memory.reserved).toBe(50);
    const waits = first.add(20);
    expect(waits).toBeInstanceOf(Promise);
    expect(second.add(20)).toBeUndefined();
    first.give(30);
    await waits;
    expect(pools.memory.reserved).toBe(60);
    first.release();
    second.release();
    expect(pools.memory.reserved).toBe(0);
  });

  it('refuses what is fetched where there is no room for a while, and has nothing of it then', async () => {
    const pools = small();
    const claim = workingOf(pools, ofA);
    await expect(claim.add(101)).rejects.toMatchObject({ code: 'provider_overloaded', retryAfterSeconds: 1 });
    claim.give(101);
    expect(pools.memory.reserved).toBe(0);
  });

  it('gives back no more than was added', async () => {
    const pools = small();
    const claim = workingOf(pools, ofA);
    await claim.reserve(ofA, 20);
    await claim.add(10);
    claim.give(1_000);
    claim.give(10);
    expect(pools.memory.reserved).toBe(20);
  });

  it('counts what is fetched before and after the body is gone', async () => {
    const pools = small();
    const claim = workingOf(pools, ofA);
    await claim.reserve(ofA, 20);
    await claim.add(10);
    claim.freeMemory();
    await claim.add(5);
    expect(pools.memory.reserved).toBe(15);
    claim.give(10);
    expect(pools.memory.reserved).toBe(5);
    claim.release();
    expect(pools.memory.reserved).toBe(0);
  });

  it('adds nothing to a request that is over, and gives back what was granted too late', async () => {
    const pools = small();
    const [first, second] = [workingOf(pools, ofA), workingOf(pools, ofB)];
    await first.add(60);
    const waits = second.add(60);
    second.release();
    first.release();
    await waits;
    expect(first.add(10)).toBeUndefined();
    expect(pools.memory.reserved).toBe(0);
  });

  it('does not let public requests take the places of others', () => {
    const pools = small();
    const taken = (): number => pools.arriving.taken + pools.working.taken;
    for (let i = 0; i < 8; i += 1) {
      new RequestClaim(pools).work({ isPublic: true, holders: [`address-${i}`, 'public'] });
    }
    expect(taken()).toBe(0);
    const one = new RequestClaim(pools);
    expect(() => one.work({ isPublic: true, holders: ['another', 'public'] })).toThrow();
    one.work(ofA);
    expect(taken()).toBe(1);
  });
});

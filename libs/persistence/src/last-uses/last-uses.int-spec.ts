import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { openTestDatabase, type OpenTestDatabase } from '../testing';
import { LastUses } from './last-uses';
import { LastUsesRepository, type LastUse } from './last-uses.repository';

let opened: OpenTestDatabase;
let repository: LastUsesRepository;
/** What each statement wrote. */
let writes: (readonly LastUse[])[];
let uses: LastUses;

/** The repository, counting its statements. */
const counted = {
  storeUses: async (some: readonly LastUse[]): Promise<void> => {
    writes.push(some);
    await repository.storeUses(some);
  },
};

beforeAll(async () => {
  Logger.overrideLogger(false);
  opened = await openTestDatabase();
  repository = new LastUsesRepository(opened.database);
});

afterAll(() => opened.close());

beforeEach(() => {
  writes = [];
  uses = new LastUses(counted);
});

const newSubject = (): string => randomBytes(32).toString('hex');

async function usedAt(organizationId: string, subject: string): Promise<number> {
  return (await repository.findUses(organizationId, [subject])).get(subject)!.getTime();
}

describe(LastUses.name, () => {
  it('writes all uses of all keys in one statement', async () => {
    const organizationId = randomUUID();
    const subjects = [newSubject(), randomUUID(), newSubject()];
    for (let use = 0; use < 10_000; use += 1) uses.note(organizationId, subjects[use % 3]!);
    expect(writes).toEqual([]);
    await uses.flush();
    expect(writes.map((some) => some.length)).toEqual([3]);
    const found = await repository.findUses(organizationId, [...subjects, newSubject()]);
    expect([...found.keys()].sort()).toEqual([...subjects].sort());
    for (const at of found.values()) expect(Math.abs(at.getTime() - Date.now())).toBeLessThan(60_000);
    await uses.flush();
    expect(writes).toHaveLength(1);
  });

  it('writes by itself after its time, once for all that came in between', async () => {
    const organizationId = randomUUID();
    const subject = newSubject();
    uses = new LastUses(counted, 50);
    for (let use = 0; use < 100; use += 1) uses.note(organizationId, subject);
    while ((await repository.findUses(organizationId, [subject])).size === 0) await delay(10);
    expect(writes).toHaveLength(1);
  });

  it('is written when the process ends', async () => {
    const organizationId = randomUUID();
    const subject = newSubject();
    uses.note(organizationId, subject);
    await uses.onModuleDestroy();
    expect((await repository.findUses(organizationId, [subject])).size).toBe(1);
  });

  it('never moves back, whichever process writes last', async () => {
    const [organizationId, subject] = [randomUUID(), newSubject()];
    await repository.storeUses([{ subject, organizationId, ageMs: 1_000 }]);
    const latest = await usedAt(organizationId, subject);
    await repository.storeUses([{ subject, organizationId, ageMs: 3_600_000 }]);
    expect(await usedAt(organizationId, subject)).toBe(latest);
    await repository.storeUses([{ subject, organizationId, ageMs: 0 }]);
    expect(await usedAt(organizationId, subject)).toBeGreaterThan(latest);
  });

  it('is shown to its own organization alone', async () => {
    const [organizationId, subject] = [randomUUID(), newSubject()];
    await repository.storeUses([{ subject, organizationId, ageMs: 0 }]);
    expect((await repository.findUses(randomUUID(), [subject])).size).toBe(0);
    expect((await repository.findUses(organizationId, [subject])).size).toBe(1);
  });

  it('keeps what could not be written for the next time, with its moment', async () => {
    const [organizationId, subject] = [randomUUID(), newSubject()];
    let isAway = true;
    uses = new LastUses({
      storeUses: (some) => (isAway ? Promise.reject(new Error('away')) : repository.storeUses(some)),
    });
    uses.note(organizationId, subject);
    await uses.flush();
    isAway = false;
    await uses.flush();
    expect((await repository.findUses(organizationId, [subject])).size).toBe(1);
  });

  it('holds a bounded number of keys, and goes on after a write', async () => {
    const organizationId = randomUUID();
    const last = newSubject();
    for (let key = 0; key < 20_000; key += 1) uses.note(organizationId, `key ${key}`);
    uses.note(organizationId, last);
    await uses.flush();
    expect(writes.map((some) => some.length)).toEqual([20_000]);
    uses.note(organizationId, last);
    await uses.flush();
    expect((await repository.findUses(organizationId, [last])).size).toBe(1);
  });

  it('lets processes write the same keys at the same time', async () => {
    const organizationId = randomUUID();
    const subjects = Array.from({ length: 500 }, newSubject);
    const write = (some: readonly string[]): Promise<void> =>
      repository.storeUses(some.map((subject) => ({ subject, organizationId, ageMs: 0 })));
    await Promise.all([subjects, [...subjects].reverse(), subjects, [...subjects].reverse()].map(write));
    expect((await repository.findUses(organizationId, subjects)).size).toBe(500);
  });
});

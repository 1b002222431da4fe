import type { HeldSegment } from './held-segment';
import { LaneSlots } from './lane-slots';
import { QuotaWindows } from './quota-windows';

const SLOTS = 8;

describe(LaneSlots.name, () => {
  let nowMs: number;
  let windows: QuotaWindows;
  let slots: LaneSlots;

  beforeEach(() => {
    nowMs = 0;
    windows = new QuotaWindows(SLOTS, () => nowMs);
    slots = new LaneSlots(SLOTS, windows);
  });

  const begin = (quota: string): (() => void) => {
    const ticket = windows.begin(quota);
    slots.begin();
    return () => {
      windows.end(ticket, 'answered');
      slots.end();
    };
  };
  const admits = (quota: string): boolean => slots.hasFree && slots.admits({ quota } as HeldSegment);

  it('has a quarter more slots for others while a provider says nothing for half a minute', () => {
    const ends = Array.from({ length: SLOTS }, () => begin('silent'));
    expect(admits('healthy')).toBe(false);
    nowMs += 30_000;
    expect([admits('healthy'), admits('silent')]).toEqual([true, false]);
    begin('healthy');
    begin('healthy');
    expect(admits('healthy')).toBe(false);
    // It says something after all.
    ends[0]!();
    expect([admits('healthy'), admits('silent')]).toEqual([false, false]);
    ends[1]!();
    ends[2]!();
    expect([admits('healthy'), admits('silent')]).toEqual([true, true]);
  });

  it('gives each quota that has not said anything one of the slots more', () => {
    for (let calls = 0; calls < SLOTS - 1; calls += 1) begin('silent');
    begin('healthy')();
    const [first] = [begin('silent')];
    nowMs += 29_000;
    const end = begin('healthy');
    nowMs += 1_000;
    end();
    expect(admits('also silent')).toBe(true);
    begin('also silent');
    expect([admits('also silent'), admits('healthy')]).toEqual([false, true]);
    first!();
  });

  it('takes neither a time limit nor a cancelled call for a sign of life', () => {
    const tickets = Array.from({ length: SLOTS }, () => windows.begin('silent'));
    for (const _ticket of tickets) slots.begin();
    nowMs += 30_000;
    windows.end(tickets[0]!, 'congested', false);
    windows.end(tickets[1]!, 'other', false);
    expect(windows.isSilent('silent')).toBe(true);
    windows.end(tickets[2]!, 'other', true);
    expect(windows.isSilent('silent')).toBe(false);
  });

  it('has no more than the silent calls hold', () => {
    begin('silent');
    nowMs += 30_000;
    begin('healthy')();
    for (let calls = 1; calls < SLOTS; calls += 1) begin('healthy');
    expect(admits('healthy')).toBe(true);
    begin('healthy');
    expect(admits('healthy')).toBe(false);
  });

  it('looks at each question while a slot is free, and at every eighth while none is', () => {
    expect([slots.isLookDue(), slots.isLookDue()]).toEqual([true, true]);
    for (let calls = 0; calls < SLOTS; calls += 1) begin('healthy');
    const looks = Array.from({ length: 16 }, () => slots.isLookDue());
    expect(looks.flatMap((isDue, question) => (isDue ? [question] : []))).toEqual([7, 15]);
  });

  it('does not take a provider for silent whose calls end one after the other', () => {
    let end = begin('slow');
    for (let calls = 1; calls < SLOTS; calls += 1) begin('slow');
    for (let rounds = 0; rounds < 10; rounds += 1) {
      nowMs += 20_000;
      end();
      end = begin('slow');
      expect(admits('healthy')).toBe(false);
    }
  });
});

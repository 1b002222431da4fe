import type { ClaimedSegment } from '@libs/persistence';
import { BatchFund } from './batch-fund';
import { HeldSegment } from './held-segment';

const SLOTS = 4;
const LINES = Array.from({ length: 8 }, (_, seq) => ({ seq, customId: `c${seq}`, body: Buffer.alloc(1) }));

describe(BatchFund.name, () => {
  let fund: BatchFund<HeldSegment>;
  let segment: HeldSegment;
  let asked: number;
  let emptied: number;

  beforeEach(() => {
    [asked, emptied] = [0, 0];
    fund = new BatchFund<HeldSegment>({ batchId: 'batch-1', organizationId: 'o' }, SLOTS, {
      onShort: () => (asked += 1),
      onEmpty: () => (emptied += 1),
    });
    segment = new HeldSegment({ attempts: 1 } as ClaimedSegment, LINES, 'acme model', fund);
    fund.add(segment);
  });

  function begin(lines: number): void {
    for (let line = 0; line < lines; line += 1) {
      expect(fund.mayBegin()).toBe(true);
      segment.next();
      fund.begun();
    }
  }

  it('begins as many lines as there are slots until a first result is stored, and then any number', () => {
    begin(SLOTS);
    expect(fund.mayBegin()).toBe(false);
    segment.stored();
    begin(4);
    expect(asked).toBe(0);
  });

  it('asks for a reservation where none is left, and begins what was reserved', () => {
    fund.meter();
    expect([fund.mayBegin(), asked, fund.wanted]).toEqual([false, 1, SLOTS]);
    fund.reserved = 2;
    begin(2);
    expect([fund.mayBegin(), asked]).toEqual([false, 2]);
  });

  it('wants no more lines than slots in all, and none while more than half of them are taken', () => {
    fund.meter();
    fund.reserved = 3;
    begin(2);
    expect(fund.wanted).toBe(2);
    begin(1);
    expect(fund.wanted).toBe(0);
  });

  it('may begin a line again that cost nothing', () => {
    fund.meter();
    fund.reserved = 1;
    begin(1);
    fund.failed();
    expect(fund.mayBegin()).toBe(true);
  });

  it('takes out all lines that wait, but none that is under way', () => {
    begin(1);
    expect(segment.takeWaiting().map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(fund.underWay).toBe(8);
  });

  it('says when nothing of its batch is held any more', () => {
    fund.leave(segment);
    fund.leave(segment);
    expect(emptied).toBe(1);
  });
});

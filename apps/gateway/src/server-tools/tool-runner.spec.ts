import { Cancellation, LeftoverReads } from '@libs/inference';
import { outsideWork } from '../parsers/testing/outside-work';
import type { PlannedTool } from './server-tool-plan';
import { failedUse, type ToolContext } from './server-tool';
import { FakeTool, found, type FakeUse } from './testing/fake-tool';
import { FakeFund } from './testing/fake-fund';
import { runCalls } from './tool-runner';

const context = (signal: AbortSignal = new AbortController().signal): ToolContext => ({
  caller: {} as never,
  generationId: 'gen-1',
  ...outsideWork({ signal }),
  cancellation: Cancellation.following(signal),
});
const planned = (tool: FakeTool): PlannedTool => ({
  name: tool.name,
  itemType: `sluice:${tool.name}`,
  bound: tool.bind({}, ''),
});
const callsOf = (tool: FakeTool, count: number, args = '{}') => {
  const one = planned(tool);
  return Array.from({ length: count }, (_, index) => ({ id: String(index), arguments: args, tool: one }));
};

async function run(calls: ReturnType<typeof callsOf>, within = context(), leftMs = 60_000, fund = new FakeFund()) {
  const finished = [];
  for await (const { call, outcome, wasRun } of runCalls(calls, within, { leftMs, fund })) {
    finished.push({ id: call.id, isError: outcome.isError, wasRun });
  }
  return finished;
}

describe(runCalls.name, () => {
  it('runs a few at once and tells of each as soon as it is done', async () => {
    const ends = new Map<number, () => void>();
    let running = 0;
    let most = 0;
    const tool: FakeTool = new FakeTool('look', () => {
      const nth = tool.uses.length - 1;
      most = Math.max(most, (running += 1));
      return new Promise((resolve) => {
        ends.set(nth, () => {
          running -= 1;
          resolve(found('Found.'));
        });
        // The first of all ends last.
        if (nth > 0) ends.get(nth)!();
        if (tool.uses.length === 20) setImmediate(ends.get(0)!);
      });
    });
    const finished = await run(callsOf(tool, 20));
    expect(finished).toHaveLength(20);
    expect(finished.at(-1)!.id).toBe('0');
    expect(most).toBeLessThanOrEqual(8);
  });

  it('runs no more than a turn may ask for', async () => {
    const tool = new FakeTool('look');
    const finished = await run(callsOf(tool, 70));
    expect(tool.uses).toHaveLength(64);
    expect(finished.filter(({ wasRun }) => !wasRun)).toHaveLength(6);
  });

  it.each(['{"at":', 'null x'])('does not run a call whose arguments are %j', async (args) => {
    const tool = new FakeTool('look');
    expect(await run(callsOf(tool, 1, args))).toEqual([{ id: '0', isError: true, wasRun: false }]);
    expect(tool.uses).toEqual([]);
  });

  it('takes no arguments for an empty object', async () => {
    const tool = new FakeTool('look');
    await run(callsOf(tool, 1, ' '));
    expect(tool.uses[0]!.args).toEqual({});
  });

  it('ends a tool that takes too long, and lets the model go on', async () => {
    const tool = new FakeTool('look', () => new Promise(() => undefined), { timeoutMs: 5 });
    expect(await run(callsOf(tool, 1))).toEqual([{ id: '0', isError: true, wasRun: true }]);
    expect(tool.uses[0]!.context.signal.aborted).toBe(true);
  });

  it('waits no longer than the request may take', async () => {
    const tool = new FakeTool('look', () => new Promise(() => undefined));
    expect(await run(callsOf(tool, 1), context(), 5)).toMatchObject([{ isError: true }]);
  });

  it('waits for nothing once the request is aborted', async () => {
    const leaving = new AbortController();
    const tool = new FakeTool('look', () => {
      leaving.abort();
      return new Promise(() => undefined);
    });
    await expect(run(callsOf(tool, 9), context(leaving.signal))).rejects.toMatchObject({ code: 'request_timeout' });
    expect(tool.uses.every((use: FakeUse) => use.context.signal.aborted)).toBe(true);
  });

  /** A tool that ends once it is left, and says what that cost. */
  const paid = (leave: () => void, costPicoUsd: bigint): FakeTool =>
    new FakeTool(
      'paint',
      ({ context: { signal } }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => setImmediate(() => resolve(failedUse('Left.', {}, costPicoUsd))));
          leave();
        }),
      { mostPicoUsd: 100n, timeoutMs: 5 },
    );

  it('says what a use cost that its caller has left, and takes it from the money', async () => {
    const leaving = new Cancellation(new LeftoverReads().termsFor('acme'));
    const within = { ...context(leaving.toAbortSignal()), cancellation: leaving };
    const fund = new FakeFund();
    const over: Promise<void>[] = [];
    const late: [bigint, boolean][] = [];
    const running = runCalls(
      callsOf(
        paid(() => leaving.leave(), 40n),
        2,
      ),
      within,
      {
        leftMs: 60_000,
        fund,
        onBegin: (use) => over.push(use),
        onLate: (_call, { costPicoUsd }, wasCounted) => late.push([costPicoUsd, wasCounted]),
      },
    );
    await expect(running.next()).rejects.toMatchObject({ code: 'request_timeout' });
    await Promise.all(over);
    expect(late).toContainEqual([40n, false]);
    expect(fund.taken).toBe(BigInt(late.length) * 40n);
  });

  it('reports the cost of a use that timed out, after the model got the timeout', async () => {
    const fund = new FakeFund();
    const over: Promise<void>[] = [];
    const late: [bigint, boolean][] = [];
    const tool = paid(() => undefined, 30n);
    for await (const { outcome } of runCalls(callsOf(tool, 1), context(), {
      leftMs: 60_000,
      fund,
      onBegin: (use) => over.push(use),
      onLate: (_call, { costPicoUsd }, wasCounted) => late.push([costPicoUsd, wasCounted]),
    })) {
      expect(outcome).toMatchObject({ isError: true, costPicoUsd: 0n });
    }
    await Promise.all(over);
    expect(late).toEqual([[30n, true]]);
    expect(fund.taken).toBe(30n);
  });

  it('takes from the money what a use cost on an own key: the fee and what the provider charges', async () => {
    const fund = new FakeFund();
    const ownKey = { upstreamCost: 80n, byokFee: 4n };
    const tool = new FakeTool('paint', () => found('Painted.', { costPicoUsd: 4n, ownKey }), { mostPicoUsd: 100n });
    await run(callsOf(tool, 1), context(), 60_000, fund);
    expect(fund.taken).toBe(84n);
  });
});

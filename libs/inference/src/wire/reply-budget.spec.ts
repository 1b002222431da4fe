import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Cancellation } from '../model/cancellation';
import { anEndpoint, aProvider } from '../testing';
import { ReplyBudget, type ReplyHolder } from './reply-budget';
import { UpstreamHttp } from './upstream-http';

class Holder implements ReplyHolder {
  countedBytes = 0;
  isPaused = false;
  resumed = 0;

  constructor(readonly holders: readonly string[] = []) {}

  resume(): void {
    this.resumed += 1;
  }
}

describe(ReplyBudget.name, () => {
  it('lets all read on while there is room, and beyond it the oldest alone', () => {
    const budget = new ReplyBudget(10, 0);
    const [oldest, second, third] = [new Holder(), new Holder(), new Holder()];
    expect([budget.take(oldest, 4), budget.take(second, 4), budget.take(third, 4)]).toEqual([true, true, false]);
    expect([budget.take(oldest, 100), budget.take(second, 1)]).toEqual([true, false]);
    budget.giveBack(oldest);
    expect([second.resumed, third.resumed]).toEqual([1, 1]);
    expect(budget.take(third, 10)).toBe(false);
    budget.giveBack(second);
    expect(third.resumed).toBe(2);
  });

  it('reads on with the next oldest, whichever answers between have ended', () => {
    const budget = new ReplyBudget(10, 0);
    const [oldest, second, third, fourth] = [new Holder(), new Holder(), new Holder(), new Holder()];
    for (const holder of [oldest, second, third, fourth]) budget.take(holder, 10);
    budget.giveBack(third);
    budget.giveBack(oldest);
    expect([second.resumed, third.resumed, fourth.resumed]).toEqual([1, 0, 0]);
    budget.giveBack(second);
    expect(fourth.resumed).toBe(1);
    budget.giveBack(fourth);
    expect(budget.take(new Holder(), 10)).toBe(true);
  });

  it('lets no answer be read beyond the bound while much of what was read is kept, until less of it is', () => {
    const budget = new ReplyBudget(12, 0);
    const [oldest, second] = [new Holder(), new Holder()];
    budget.take(oldest, 4);
    budget.take(second, 4);
    budget.keep(3);
    expect([budget.take(oldest, 4), budget.take(second, 1)]).toEqual([true, false]);
    budget.keep(4);
    expect(budget.take(oldest, 1)).toBe(false);
    budget.keep(3);
    expect([oldest.resumed, second.resumed]).toEqual([1, 0]);
    budget.giveBack(oldest);
    expect(second.resumed).toBe(1);
  });

  it('leaves room for others where one workspace holds much, and lets its oldest answer go on', () => {
    const budget = new ReplyBudget(90, 0);
    const [first, second] = [new Holder(['ws', 'org']), new Holder(['ws', 'org'])];
    const other = new Holder(['ws-2', 'org-2']);
    expect([budget.take(first, 50), budget.take(second, 10), budget.take(second, 1)]).toEqual([true, true, false]);
    expect([budget.take(first, 5), budget.take(other, 10), budget.take(other, 5)]).toEqual([true, true, true]);
    budget.giveBack(first);
    expect(second.resumed).toBe(1);
  });

  it('counts all workspaces of an organization together', () => {
    const budget = new ReplyBudget(90, 0);
    const holders = ['a', 'b', 'c'].map((workspace) => new Holder([workspace, 'org']));
    expect(holders.map((holder) => budget.take(holder, 25))).toEqual([true, true, false]);
    expect(budget.take(new Holder(['d', 'org-2']), 10)).toBe(true);
  });

  it('lets small answers end, whatever others hold', () => {
    const budget = new ReplyBudget(100, 10);
    budget.take(new Holder(['slow', 'org']), 200);
    budget.take(new Holder(['slow-2', 'org-3']), 50);
    const small = new Holder(['ws-2', 'org-2']);
    expect([budget.take(small, 10), budget.take(small, 1)]).toEqual([true, false]);
  });

  it('leaves room for others next to the oldest answer, however large that one is', () => {
    const budget = new ReplyBudget(90, 0);
    budget.take(new Holder(['slow', 'org']), 200);
    const other = new Holder(['ws-2', 'org-2']);
    expect([budget.take(other, 10), budget.take(other, 5)]).toEqual([true, true]);
  });

  it('leaves room for others next to several organizations that hold much', () => {
    const budget = new ReplyBudget(900, 0);
    const oldest = new Holder(['ws-a', 'org-a']);
    const slow = ['b', 'c', 'd'].map((name) => new Holder([`ws-${name}`, `org-${name}`]));
    budget.take(oldest, 600);
    for (const holder of slow) while (budget.take(holder, 1) && holder.countedBytes < 600);
    budget.take(oldest, 600);
    const other = new Holder(['ws', 'org']);
    expect([budget.take(other, 1), budget.take(other, 1)]).toEqual([true, true]);
    budget.giveBack(oldest);
    expect(slow.map(({ isPaused }) => isPaused)).toEqual([false, false, false]);
  });

  it('forgets who has ended, however often that is said', () => {
    const budget = new ReplyBudget(10, 0);
    const [one, other] = [new Holder(), new Holder()];
    budget.take(one, 10);
    budget.giveBack(one);
    budget.giveBack(one);
    expect(budget.take(other, 10)).toBe(true);
  });
});

describe(UpstreamHttp.name, () => {
  const MIB = 1024 * 1024;
  let server: Server;

  beforeAll(async () => {
    server = createServer((_request, response) => void response.end(Buffer.alloc(4 * MIB, 'a')));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('reads every answer to its end although all of them together are too large', async () => {
    const http = new UpstreamHttp({ replies: new ReplyBudget(5 * MIB) });
    const { port } = server.address() as AddressInfo;
    const provider = aProvider({ baseUrl: `http://127.0.0.1:${port}`, maxConcurrency: 16 });
    const call = {
      endpoint: anEndpoint({ provider }),
      apiKey: null,
      signal: new Cancellation(),
      body: Buffer.from('{}'),
      timeouts: { headersMs: 20_000, idleMs: 20_000, totalMs: 20_000 },
    };
    const replies = await Promise.all(Array.from({ length: 16 }, () => http.request('/', [], call)));
    expect(replies.map(({ body }) => body.length)).toEqual(Array.from({ length: 16 }, () => 4 * MIB));
    await http.close();
  });

  it('reads no more answers than there is room for while those that were read are stored slowly', async () => {
    const replies = new ReplyBudget(8 * MIB);
    const http = new UpstreamHttp({ replies });
    const { port } = server.address() as AddressInfo;
    const provider = aProvider({ baseUrl: `http://127.0.0.1:${port}`, maxConcurrency: 16 });
    const timeouts = { headersMs: 20_000, idleMs: 20_000, totalMs: 20_000 };
    const calls = Array.from({ length: 16 }, () => ({
      endpoint: anEndpoint({ provider }),
      apiKey: null,
      signal: new Cancellation(),
      body: Buffer.from('{}'),
      timeouts,
    }));
    let kept = 0;
    let mostKept = 0;
    let stored: Promise<unknown> = Promise.resolve();
    const keep = (bytes: number): void => {
      kept += bytes;
      mostKept = Math.max(mostKept, kept);
      replies.keep(kept);
    };
    const run = async (call: (typeof calls)[number]): Promise<void> => {
      const { body } = await http.request('/', [], call);
      keep(body.length);
      stored = stored.then(() => setTimeout(30)).then(() => keep(-body.length));
      await stored;
    };
    await Promise.all(calls.map(run));
    expect(mostKept).toBeLessThanOrEqual(12 * MIB);
    expect(kept).toBe(0);
    await http.close();
  });
});

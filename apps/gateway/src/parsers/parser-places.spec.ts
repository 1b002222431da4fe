import { ParserPlaces, type PlaceLimits, type PlaceWork } from './parser-places';

const LONG_MS = 60_000;
const LIMITS: PlaceLimits = { maxProcesses: 3, maxPerParser: 2, maxWaiting: 64, maxWaitMs: LONG_MS };

const workOf = (workspace: string, organization = `organization of ${workspace}`): PlaceWork => ({
  holders: [workspace, organization],
  signal: new AbortController().signal,
});

/** A queue of tasks that record the order in which they are served. */
class Line {
  readonly served: string[] = [];
  readonly refused: string[] = [];
  readonly places: ParserPlaces;
  readonly #running: PlaceWork[] = [];

  constructor(limits: Partial<PlaceLimits> = {}) {
    this.places = new ParserPlaces({ ...LIMITS, ...limits });
  }

  /** Adds tasks of a workspace, one after another. */
  async come(work: PlaceWork, count = 1): Promise<void> {
    const [name] = work.holders;
    for (let nth = 0; nth < count; nth += 1) {
      void this.places.enter('pdf-text', work).then((mayEnter) => {
        (mayEnter ? this.served : this.refused).push(name!);
        if (mayEnter) this.#running.push(work);
      });
    }
    await settled();
  }

  /** Ends the task that was served first. */
  async end(): Promise<void> {
    this.places.leave('pdf-text', this.#running.shift()!);
    await settled();
  }

  async endAll(): Promise<void> {
    while (this.#running.length > 0) await this.end();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe(ParserPlaces.name, () => {
  it('serves the single task of a tenant next, however many of another wait', async () => {
    const line = new Line();
    await line.come(workOf('slow'), 42);
    await line.come(workOf('other'));
    expect(line.served).toEqual(['slow', 'slow']);
    await line.end();
    expect(line.served).toEqual(['slow', 'slow', 'other']);
    await line.endAll();
    expect(line.served).toHaveLength(43);
  });

  it('takes turns between workspaces, and serves the tasks of each as they came', async () => {
    const line = new Line({ maxPerParser: 1 });
    const organization = 'one for all';
    await line.come(workOf('a', organization), 3);
    await line.come(workOf('b', organization), 2);
    await line.come(workOf('c', organization));
    await line.endAll();
    expect(line.served).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
  });

  it('serves an organization no sooner for having many workspaces', async () => {
    const line = new Line({ maxPerParser: 1 });
    for (let nth = 0; nth < 4; nth += 1) await line.come(workOf(`many-${nth}`, 'many'));
    await line.come(workOf('single', 'single'));
    await line.endAll();
    expect(line.served).toEqual(['many-0', 'single', 'many-1', 'many-2', 'many-3']);
  });

  it('leaves places in the line to others, whatever a workspace or an organization sends', async () => {
    const line = new Line();
    await line.come(workOf('greedy', 'greedy'), 100);
    expect([line.served.length, line.refused.length]).toEqual([2, 56]);
    await line.come(workOf('sister', 'greedy'), 100);
    await line.come(workOf('other'), 5);
    expect(line.refused.filter((name) => name === 'other')).toEqual([]);
    await line.endAll();
    expect(line.served.filter((name) => name === 'other')).toHaveLength(5);
  });

  it('serves a task whose parser has room before an earlier task whose parser has none', async () => {
    const line = new Line();
    await line.come(workOf('files'), 10);
    expect(await line.places.enter('html-text', workOf('pages'))).toBe(true);
  });

  it('lets nothing wait longer than it may, nor for a caller who has left', async () => {
    const line = new Line({ maxPerParser: 1, maxWaitMs: 20 });
    await line.come(workOf('a'));
    expect(await line.places.enter('pdf-text', workOf('late'))).toBe(false);
    const caller = new AbortController();
    const waits = line.places.enter('pdf-text', { ...workOf('left'), signal: caller.signal });
    caller.abort();
    expect(await waits).toBe(false);
    await line.endAll();
    expect(line.served).toEqual(['a']);
  });

  it('forgets a tenant without tasks, and gets all places back', async () => {
    const line = new Line();
    for (let nth = 0; nth < 40; nth += 1) await line.come(workOf(`workspace-${nth}`));
    expect(line.places.remembered).toBe(80);
    await line.endAll();
    expect(line.places.remembered).toBe(0);
    await line.come({ holders: ['no workspace', 'no workspace'], signal: new AbortController().signal }, 100);
    expect(line.refused).toHaveLength(56);
  });

  it('refuses waiting and later tasks once it is closed', async () => {
    const line = new Line();
    await line.come(workOf('a'), 5);
    line.places.close();
    await settled();
    expect(line.refused).toEqual(['a', 'a', 'a']);
    await line.come(workOf('b'));
    expect(line.refused).toContain('b');
    await line.endAll();
    expect(line.places.remembered).toBe(0);
  });
});

import type { StoredContent } from '@libs/persistence';
import { metricsRegistry } from '@libs/platform';
import { ContentLog, type WaitingContent } from './content-log';
import { FakeGenerationContents } from './testing/fake-generation-contents';

const silent = { log() {}, error() {}, warn() {} };
const row = (generationId: string): StoredContent => ({
  generationId,
  createdOn: '2026-11-01',
  organizationId: 'acme',
  workspaceId: 'workspace',
  input: '{}',
  output: '{}',
  error: null,
});
const waiting = (id: string, bytes = 10): WaitingContent => ({ bytes, render: () => row(id) });

describe(ContentLog.name, () => {
  let contents: FakeGenerationContents;
  let log: ContentLog;

  beforeEach(() => {
    contents = new FakeGenerationContents();
    log = new ContentLog(contents, silent, 0);
    metricsRegistry.resetMetrics();
  });

  const droppedFor = async (reason: string): Promise<number> => {
    const metric = await metricsRegistry.getSingleMetric('sluice_generation_contents_dropped_total')!.get();
    return metric.values.find(({ labels }) => labels.reason === reason)?.value ?? 0;
  };
  const stored = (): string[] => contents.rows.map(({ generationId }) => generationId);

  it('stores in groups what comes in, and gives its memory back', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `gen-${index}`);
    for (const id of ids) log.add(waiting(id));
    await log.flush();
    expect(stored()).toEqual(ids);
    expect(contents.tries).toBe(3);
    expect(log.budget.take(64 * 1024 * 1024)).toBe(true);
  });

  it('makes nothing before its turn', () => {
    let made = 0;
    log.add({ bytes: 1, render: () => ((made += 1), row('a')) });
    expect(made).toBe(0);
  });

  it('drops what does not fit into its memory, and counts it', async () => {
    log.add(waiting('large', 60 * 1024 * 1024));
    log.add(waiting('larger', 60 * 1024 * 1024));
    log.add(waiting('small'));
    await log.flush();
    expect(stored()).toEqual(['large', 'small']);
    expect(await droppedFor('full')).toBe(1);
  });

  it('tries again while the database is away, and gives up after three times', async () => {
    contents.failures = 2;
    log.add(waiting('patient'));
    await log.flush();
    contents.failures = 3;
    log.add(waiting('unlucky'));
    await log.flush();
    log.add(waiting('next'));
    await log.flush();
    expect(stored()).toEqual(['patient', 'next']);
    expect(await droppedFor('database')).toBe(1);
  });

  it('drops the one that PostgreSQL refuses, and stores the others of its group', async () => {
    contents.refusedIds.add('bad');
    for (const id of ['a', 'b', 'bad', 'c']) log.add(waiting(id));
    await log.flush();
    expect(stored()).toEqual(['a', 'b', 'c']);
    expect([await droppedFor('refused'), await droppedFor('database')]).toEqual([1, 0]);
  });

  it('leaves one out that cannot be read, and stores the others', async () => {
    log.add(waiting('a'));
    log.add({
      bytes: 1,
      render: () => {
        throw new TypeError('no such member');
      },
    });
    log.add(waiting('b'));
    await log.flush();
    expect(stored()).toEqual(['a', 'b']);
    expect(await droppedFor('unreadable')).toBe(1);
  });
});

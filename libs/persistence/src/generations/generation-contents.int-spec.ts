import { randomUUID } from 'node:crypto';
import { openTestDatabase, type OpenTestDatabase } from '../testing';
import { GenerationContentsRepository, type StoredContent } from './generation-contents.repository';

const DAY_MS = 86_400_000;
const dayBefore = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

describe(GenerationContentsRepository.name, () => {
  let opened: OpenTestDatabase;
  let contents: GenerationContentsRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    contents = new GenerationContentsRepository(opened.database);
  });

  afterAll(() => opened.close());

  const content = (values: Partial<StoredContent> = {}): StoredContent => ({
    generationId: `gen-1-${randomUUID()}`,
    createdOn: dayBefore(0),
    organizationId: randomUUID(),
    workspaceId: randomUUID(),
    input: '{"messages":[{"role":"user","content":"a\\u0000 \\ud800 \\"{},"}]}',
    output: '{"completion":"Grüße 😀","reasoning":null}',
    error: null,
    ...values,
  });
  const find = (one: StoredContent): Promise<unknown> => contents.find(one.generationId, one.createdOn, one);

  it('gives back what was stored, byte for byte', async () => {
    const answered = content();
    const failed = content({ output: '{}', error: '{"status":503}' });
    await contents.store([answered, failed]);
    const { input, output } = answered;
    expect(await find(answered)).toEqual({ input, output, error: null });
    expect(await find(failed)).toMatchObject({ error: '{"status":503}' });
  });

  it('belongs to one workspace and one day', async () => {
    const one = content();
    await contents.store([one]);
    expect(await find({ ...one, workspaceId: randomUUID() })).toBeNull();
    expect(await find({ ...one, createdOn: dayBefore(1) })).toBeNull();
  });

  it('is stored once', async () => {
    const one = content();
    await contents.store([one]);
    await contents.store([{ ...one, output: '{"completion":"another"}' }]);
    expect(await find(one)).toMatchObject({ output: one.output });
  });

  it('goes when its days are over, in parts', async () => {
    await contents.purgeOlderThan(0);
    const due = Array.from({ length: 501 }, () => content({ createdOn: dayBefore(8) }));
    const kept = content({ createdOn: dayBefore(7) });
    await contents.store([...due, kept]);
    expect(await contents.purgeOlderThan(7)).toEqual({ deleted: 500, isDone: false });
    expect(await contents.purgeOlderThan(7)).toEqual({ deleted: 1, isDone: true });
    expect(await find(kept)).not.toBeNull();
  });
});

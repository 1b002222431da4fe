import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { parseCatalogue, type Candidate } from '@libs/inference';
import {
  BatchEndingsRepository,
  BatchIntakeRepository,
  BatchLinesRepository,
  BatchResultPagesRepository,
  BatchViewsRepository,
  createDataSource,
  Database,
  GenerationsRepository,
  LedgerRepository,
  OutboxRepository,
  StaleUploadsRepository,
} from '@libs/persistence';
import {
  announcementsOf,
  anOpening,
  aSettlement,
  createTestDatabase,
  DatabaseProxy,
  type TestDatabase,
} from '@libs/persistence/testing';
import type { GatewayEnv } from '../gateway.env';
import { IntakeTurns } from '../submissions/intake-turns';
import { BatchIntakeService, type BatchCaller } from './batch-intake.service';
import { BatchRetryService } from './batch-retry.service';
import { BatchesService } from './batches.service';

const MODEL = 'vendor/chat';
const PROVIDER =
  '{ slug: vendor, name: Vendor, base_url: "https://vendor.test/v1", protocol: openai, api_key_env: KEY, batch: managed }';
const ENDPOINT = `{ provider: vendor, upstream_model: m, apis: [chat], pricing: { prompt: "0.000001", completion: "0.000001" } }`;
const catalogue = parseCatalogue([
  {
    name: 'test.yaml',
    text: `providers:\n  - ${PROVIDER}\nmodels:\n  - slug: ${MODEL}\n    name: Chat\n    endpoints:\n      - ${ENDPOINT}\n`,
  },
]);

/** What is written in one transaction, and what is written in slices before. */
const SIZES = {
  'of one slice': { lines: 10, lineBytes: 100 },
  'of several slices': { lines: 9, lineBytes: 1024 * 1024 },
};
const KEYS = { 'without Idempotency-Key': null, 'with Idempotency-Key': 'a key' };

/** Timeouts for a machine that other work shares. */
const PATIENT = { connectTimeoutMs: 20_000, statementTimeoutMs: 60_000 };

let testDatabase: TestDatabase;
let proxy: DatabaseProxy;
let direct: DataSource;
let source: DataSource;
/** Connected directly, not through the proxy. */
let witness: Database;
/** Connected through the proxy. */
let database: Database;
let owner: BatchCaller;
let intake: BatchIntakeService;
let retries: BatchRetryService;

beforeAll(async () => {
  Logger.overrideLogger(false);
  testDatabase = await createTestDatabase();
  proxy = await DatabaseProxy.start(testDatabase.url);
  direct = await createDataSource({ url: testDatabase.url, ...PATIENT }).initialize();
  source = await createDataSource({ url: proxy.url, ...PATIENT }).initialize();
  witness = new Database(direct);
  database = new Database(source);
  intake = intakeOn(database);
  const batches = new BatchesService(
    new BatchViewsRepository(database),
    new BatchResultPagesRepository(database),
    new BatchEndingsRepository(
      database,
      new LedgerRepository(database),
      new OutboxRepository(database),
      announcementsOf(database),
    ),
    { wake: () => undefined } as never,
  );
  retries = new BatchRetryService(batches, new BatchLinesRepository(database), intake);
});

afterAll(async () => {
  await source?.destroy();
  await direct?.destroy();
  await proxy?.stop();
  await testDatabase?.drop();
});

beforeEach(async () => {
  owner = {
    organizationId: randomUUID(),
    workspaceId: randomUUID(),
    apiKeyHash: 'a'.repeat(64),
    keyLimit: null,
    policies: [],
    defaultCallbackUrl: null,
  };
  await new LedgerRepository(witness).topUp(owner.organizationId, '1000', randomUUID());
});

function intakeOn(on: Database): BatchIntakeService {
  const keysFor = (candidate: Candidate): Candidate[] => keys.map((credential) => ({ ...candidate, credential }));
  return new BatchIntakeService(
    new BatchIntakeRepository(on),
    new BatchViewsRepository(on),
    new LedgerRepository(on),
    new OutboxRepository(on),
    { wake: () => undefined } as never,
    { catalogue: () => catalogue, keysFor, takesPlainIdsOnly: () => false } as never,
    { ownCredentials: async () => [] } as never,
    { resolve: () => null } as never,
    { quote: async () => null } as never,
    new IntakeTurns(),
    { BYOK_FEE_PERCENT: '5' } as GatewayEnv,
  );
}

/** Of the caller's own, and null for the operator's, in the order in which lines are called with them. */
let keys: (Candidate['credential'] | null)[] = [null];

interface Size {
  readonly lines: number;
  readonly lineBytes: number;
}

async function* bodyOf({ lines, lineBytes }: Size): AsyncGenerator<Buffer> {
  yield Buffer.from(`{"endpoint":"/v1/chat/completions","model":"${MODEL}","requests":[`);
  const content = 'x'.repeat(lineBytes);
  for (let index = 0; index < lines; index += 1) {
    const body = { messages: [{ role: 'user', content }], max_tokens: 1 };
    yield Buffer.from((index === 0 ? '' : ',') + JSON.stringify({ custom_id: `line-${index}`, body }));
  }
  yield Buffer.from(']}');
}

const submit = (size: Size, key: string | null = null, to = intake) => to.receive(owner, bodyOf(size), key);

interface StoredBatch {
  readonly id: string;
  readonly status: string;
  readonly total: number;
  readonly lines: number;
  readonly covered: number;
  readonly jobs: number;
  readonly holds: number;
}

/** Returns every batch of the owner, and what is stored of it. */
function stored(): Promise<StoredBatch[]> {
  return witness.rows<StoredBatch>({
    sql: `SELECT b.id, b.status, b.total,
            (SELECT count(*)::integer FROM batch_lines l WHERE l.batch_number = b.number) AS lines,
            (SELECT coalesce(sum(last_seq - first_seq + 1), 0)::integer FROM batch_segments s
             WHERE s.batch_number = b.number) AS covered,
            (SELECT count(*)::integer FROM outbox o WHERE o.payload->>'batchId' = b.id) AS jobs,
            (SELECT count(*)::integer FROM ledger_holds h WHERE h.id = b.id AND h.state = 'open') AS holds
          FROM batches b WHERE b.organization_id = $1 ORDER BY b.number`,
    values: [owner.organizationId],
  });
}

const whole = (id: string, { lines }: Size): StoredBatch[] => [
  { id, status: 'validating', total: lines, lines, covered: lines, jobs: 1, holds: 1 },
];

/** Returns the number of rows without a batch row. */
async function orphans(): Promise<number> {
  const row = await witness.firstRow<{ n: number }>({
    sql: `SELECT count(*)::integer AS n FROM (SELECT batch_number FROM batch_lines UNION ALL SELECT batch_number FROM batch_segments) r
          WHERE NOT EXISTS (SELECT 1 FROM batches b WHERE b.number = r.batch_number)`,
  });
  return row!.n;
}

/** Does what the sweeper does once the leases of uploads have expired. */
async function sweep(): Promise<void> {
  await witness.execute({ sql: `UPDATE batches SET lease_until = now() - interval '1 s' WHERE status = 'receiving'` });
  const stale = new StaleUploadsRepository(witness);
  for (const key of await stale.find(1_000, [])) await stale.discard(key);
}

describe('a batch whose accepting commit is not answered', () => {
  const cases = Object.entries(SIZES).flatMap(([size, of]) =>
    Object.entries(KEYS).flatMap(([named, key]) =>
      (['unanswered', 'terminated'] as const).map((kind) => ({ size, of, named, key, kind })),
    ),
  );

  it.each(cases)('is answered as accepted, and keeps its lines: $size, $named, $kind', async ({ of, key, kind }) => {
    const met = proxy.failCommit('batch-accept', kind);
    const { id, status, total } = await submit(of, key);
    await met;
    expect({ status, total }).toEqual({ status: 'validating', total: of.lines });
    await sweep();
    expect(await stored()).toEqual(whole(id, of));
    // A repetition is the same batch.
    if (key !== null) expect((await submit(of, key)).id).toBe(id);
    expect(await stored()).toHaveLength(1);
  });

  it.each(Object.entries(SIZES))('is refused where it did not happen, and nothing is left: %s', async (_size, of) => {
    const met = proxy.failCommit('batch-accept', 'unsent');
    await expect(submit(of, 'a key')).rejects.toThrow();
    await met;
    expect(await stored()).toEqual([]);
    expect(await orphans()).toBe(0);
  });

  it('is waited for where PostgreSQL hears of the commit after its connection was lost', async () => {
    const met = proxy.failCommit('batch-accept', 'late');
    const accepted = submit(SIZES['of several slices']);
    (await met).sendLate();
    const { id } = await accepted;
    expect(await stored()).toEqual(whole(id, SIZES['of several slices']));
  });

  it('is neither removed nor called refused where PostgreSQL stays away', async () => {
    const met = proxy.failCommit('batch-accept', 'unanswered').then(() => proxy.goAway());
    const refused: unknown = await submit(SIZES['of several slices']).catch((error: unknown) => error);
    await met;
    proxy.comeBack();
    const [batch] = await stored();
    expect(refused).toMatchObject({ status: 503, metadata: { batch_id: batch!.id } });
    expect((refused as Error).message).toContain(`GET /batches/${batch!.id}`);
    await sweep();
    expect(await stored()).toEqual(whole(batch!.id, SIZES['of several slices']));
  }, 60_000);

  it('keeps its lines when it is that of a retry', async () => {
    const first = await submit(SIZES['of several slices']);
    await witness.execute({
      sql: `UPDATE batches SET status = 'failed', finalized_at = now(), completed = 0, failed = total WHERE id = $1`,
      values: [first.id],
    });
    void proxy.failCommit('batch-accept', 'unanswered');
    const { id } = await retries.retry(first.id, owner, 'a key');
    expect((await stored()).filter((batch) => batch.id === id)).toEqual(whole(id, SIZES['of several slices']));
  });
});

describe('an accepted batch', () => {
  it('may follow an answer at once, whose hold is in its way for a moment', async () => {
    const generations = new GenerationsRepository(witness);
    const call = anOpening({ ...owner, holdUsd: '1000' });
    expect(await generations.open([call])).toMatchObject([{ refusedBy: null }]);
    setTimeout(() => void generations.settle([aSettlement(call, '0.01')]), 30);
    const { id } = await submit(SIZES['of several slices']);
    expect(await stored()).toEqual(whole(id, SIZES['of several slices']));
  });

  it.each(Object.entries(SIZES))('keeps its lines when it cannot be read again: %s', async (_size, of) => {
    await witness.execute({ sql: 'REVOKE SELECT ON batches FROM sluice_tenant' });
    try {
      const { id, createdAt } = await submit(of);
      expect(Math.abs(createdAt - Date.now() / 1_000)).toBeLessThan(60);
      expect(await stored()).toEqual(whole(id, of));
    } finally {
      await witness.execute({ sql: 'GRANT SELECT ON batches TO sluice_tenant' });
    }
  });

  it('is answered as a look at it shows it', async () => {
    const answer = await submit(SIZES['of one slice']);
    expect(answer).toEqual(await new BatchViewsRepository(witness).findForWorkspace(answer.id, owner));
  });

  it('loses nothing to a discard of its upload that comes late', async () => {
    const { id, number, createdOn } = await submit(SIZES['of several slices']);
    expect(await new BatchIntakeRepository(witness).discard({ id, number, createdOn })).toBe(false);
    expect(await stored()).toEqual(whole(id, SIZES['of several slices']));
  });
});

describe('a transaction of the intake that runs twice', () => {
  /** Makes the first statement on a table fail like that of a deadlock's victim. */
  async function failOnce(table: string, sqlState: string, deferred: boolean): Promise<() => Promise<void>> {
    await witness.execute({
      sql: `
        CREATE SEQUENCE faults;
        CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('faults') = 1 THEN RAISE EXCEPTION 'a fault' USING ERRCODE = '${sqlState}'; END IF;
          RETURN NULL;
        END $$;
        CREATE ${deferred ? 'CONSTRAINT' : ''} TRIGGER fault AFTER INSERT ON ${table}
          ${deferred ? 'DEFERRABLE INITIALLY DEFERRED' : ''} FOR EACH ROW EXECUTE FUNCTION fault()`,
    });
    return async () => {
      const faults = await witness.firstRow<{ n: number }>({ sql: 'SELECT last_value::integer AS n FROM faults' });
      await witness.execute({
        sql: `DROP TRIGGER fault ON ${table}; DROP FUNCTION fault; DROP SEQUENCE faults`,
      });
      expect(faults!.n).toBeGreaterThan(1);
    };
  }

  it.each(
    Object.entries(SIZES).flatMap(([size, of]) =>
      (['outbox', 'batch_segments'] as const).flatMap((table) =>
        (['40P01', '40001'] as const).map((state) => ({ size, of, table, state })),
      ),
    ),
  )('stores every line: $size, $state at $table', async ({ of, table, state }) => {
    for (const deferred of [false, true]) {
      const mend = await failOnce(table, state, deferred);
      try {
        const { id } = await submit(of);
        expect((await stored()).filter((batch) => batch.id === id)).toEqual(whole(id, of));
      } finally {
        await mend();
      }
    }
  });
});

describe('the accepting transaction', () => {
  /** An intake whose lines or segments get lost on their way. */
  class LosingIntake extends BatchIntakeRepository {
    constructor(
      on: Database,
      private readonly loss: string,
    ) {
      super(on);
    }

    override async requireWhole(...[session, key, total]: Parameters<BatchIntakeRepository['requireWhole']>) {
      await session.execute({ sql: this.loss, values: [key.number] });
      await super.requireWhole(session, key, total);
    }
  }

  it.each([
    ['the first line', 'DELETE FROM batch_lines WHERE batch_number = $1 AND seq = 0'],
    ['the last line', 'DELETE FROM batch_lines WHERE batch_number = $1 AND seq = 9'],
    ['every line', 'DELETE FROM batch_lines WHERE batch_number = $1'],
    ['a segment', 'DELETE FROM batch_segments WHERE batch_number = $1'],
    ['the end of a segment', 'UPDATE batch_segments SET last_seq = last_seq - 1 WHERE batch_number = $1'],
    ['a number', 'UPDATE batch_lines SET seq = 10 WHERE batch_number = $1 AND seq = 4'],
  ])('refuses a batch that lost %s, and leaves nothing of it', async (_what, loss) => {
    const losing = intakeOn(database);
    Object.assign(losing, { intake: new LosingIntake(database, loss) });
    await expect(submit(SIZES['of one slice'], null, losing)).rejects.toMatchObject({ code: 'server' });
    expect(await stored()).toEqual([]);
    expect(await orphans()).toBe(0);
  });
});

describe('a connection that ends at any message of an upload', () => {
  /** A connection without prepared statements, so that every round has the same messages. */
  async function reconnect(): Promise<void> {
    proxy.goAway();
    proxy.comeBack();
    // The pool hands out what it has not yet seen end.
    while (!(await database.ping().catch(() => false)));
  }

  async function forget(): Promise<void> {
    await witness.execute({ sql: `DELETE FROM batches WHERE organization_id = '${owner.organizationId}'` });
    await witness.execute({ sql: 'TRUNCATE batch_lines, batch_segments, outbox' });
  }

  /** Returns the answer that the caller gets; what is stored must match it. */
  async function outcomeOfCut(message: number, size: Size): Promise<'accepted' | 'refused'> {
    await reconnect();
    proxy.cutAtMessage(message);
    const answer: unknown = await submit(size, `key ${message}`).catch((error: unknown) => error);
    await sweep();
    const outcome = answer instanceof Error ? 'refused' : 'accepted';
    const batches = await stored();
    const id = batches[0]?.id ?? '';
    expect([message, batches]).toEqual([message, outcome === 'accepted' ? whole(id, size) : []]);
    expect([message, await orphans()]).toEqual([message, 0]);
    await forget();
    return outcome;
  }

  // Of the large upload every ninth message: its rounds take longer, and most of its messages are alike.
  it.each([
    ['of one slice', 1],
    ['of several slices', 9],
  ] as const)(
    'leaves a whole batch that was answered, or nothing after the sweep: %s',
    async (name, stride) => {
      const seen = { accepted: 0, refused: 0 };
      for (let message = 1; seen.accepted === 0 || proxy.hasCut; message += stride) {
        seen[await outcomeOfCut(message, SIZES[name])] += 1;
      }
      // The last round was not cut. Before it the answer to COMMIT was, which is two messages.
      expect(seen.accepted).toBeGreaterThanOrEqual(stride === 1 ? 3 : 1);
      expect(seen.refused).toBeGreaterThan(stride === 1 ? 20 : 5);
    },
    300_000,
  );
});

describe('what is held for a batch', () => {
  const own = { id: randomUUID() } as Candidate['credential'];
  const limited = { amountUsd: '100', reset: null, includesByok: true };
  const size = { lines: 2, lineBytes: 2_944 };

  afterEach(() => (keys = [null]));

  const held = async (): Promise<string> =>
    (await new LedgerRepository(witness).accountOf(owner.organizationId)).heldUsd.replace(/0+$/, '');

  it.each([
    ['the list price on a key of the operator', [null], {}, '0.002038'],
    ['the fee on keys of its owner', [own, own], {}, '0.0001019'],
    ['the list price where a key of the operator may take over', [own, null], {}, '0.002038'],
    ['the list price and the fee where the limit of its key counts both', [own], { keyLimit: limited }, '0.0021399'],
    ['the list price and the fee where a budget counts both', [own], { budgets: [limited] }, '0.0021399'],
  ])('is %s', async (_what, given, limits, expected) => {
    keys = given;
    owner = { ...owner, ...limits };
    await submit(size, null, intakeOn(witness));
    expect(await held()).toBe(expected);
    // Only in this case may no key of the operator take over later.
    const batch = await witness.firstRow<{ own_keys_only: boolean }>({
      sql: 'SELECT own_keys_only FROM batches WHERE organization_id = $1',
      values: [owner.organizationId],
    });
    expect(batch).toEqual({ own_keys_only: given.every((credential) => credential !== null) });
  });
});

describe('the files of a batch', () => {
  afterEach(() => (keys = [null]));

  it.each([
    ['go to its provider where nothing forbids it', [{ owner: 'key' }], false],
    ['stay where a policy forbids providers to keep anything', [{ owner: 'key', isZdrRequired: true }], true],
  ] as const)('%s', async (_what, policies, leavesNothing) => {
    owner = { ...owner, policies };
    keys = [{ id: randomUUID(), declaredZdr: true } as Candidate['credential']];
    await submit({ lines: 1, lineBytes: 8 }, null, intakeOn(witness));
    const batch = await witness.firstRow({
      sql: 'SELECT leaves_nothing FROM batches WHERE organization_id = $1',
      values: [owner.organizationId],
    });
    expect(batch).toEqual({ leaves_nothing: leavesNothing });
  });
});

import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@libs/contracts';
import { emptyUsage, formatUsd, parseCatalogue, parseRate, priceUsage } from '@libs/inference';
import type { SegmentLease } from '@libs/persistence';
import { chargedBatch, openTestDatabase, type OpenTestDatabase } from '@libs/persistence/testing';
import { answered } from '../../apps/batch-worker/src/batches/line-outcome';
import { decimalOf, type Charge } from '../../tools/sandbox-provider/src/reports/charge';
import { startSandbox, type Sandbox } from '../../tools/sandbox-provider/src/start-sandbox';
import { commands } from '../../tools/sluice/src/commands';
import type { Installation } from '../../tools/sluice/src/installation';
import { EXIT, run } from '../../tools/sluice/src/run';
import {
  CALLS_OF_GROUP,
  callOf,
  catalogueText,
  chargeOf,
  DAYS,
  MODELS,
  PROVIDERS,
  type BilledCall,
} from '../support/reconciliation/billed-calls';
import { storeCalls, storeLoop } from '../support/reconciliation/bulk-rows';
import { chargesOf, keyOf, type Planted, type PlantedCause } from '../support/reconciliation/planted-differences';

/** A hundred thousand calls in PostgreSQL, and what two providers report of them over HTTP. */

const SETUP_TIMEOUT_MS = 300_000;
const RUN_TIMEOUT_MS = 120_000;
const ADMIN_KEY = 'sk-admin-sandbox';
const PAGE = 5_000;

/** Thirty differences of eight kinds, each in a day and model of its own. */
const PLANTED: readonly Planted[] = [
  ...plant('tier', 'makero', ['0 0 1', '1 1 7', '2 2 40', '9 4 300']),
  ...plant('retry', 'makero', ['3 0 1', '4 1 3']),
  ...plant('abandoned_call', 'makero', ['5 2 1', '6 3 4']),
  ...plant('orphan_batch', 'makero', ['7 4 10', '8 0 100']),
  ...plant('unknown', 'makero', ['9 1 1', '0 2 3']),
  ...plant('long_context', 'makera', ['0 1 1', '1 2 9', '2 3 50', '9 0 200']),
  ...plant('cache_write', 'makera', ['3 4 1', '4 0 8', '5 1 60', '6 2 250']),
  ...plant('retry', 'makera', ['7 3 2', '8 4 1']),
  ...plant('abandoned_call', 'makera', ['0 3 2', '1 4 1']),
  ...plant('orphan_batch', 'makera', ['2 0 20', '3 1 5']),
  ...plant('tool_use', 'makera', ['4 2 1', '5 3 12', '8 1 3']),
  ...plant('unknown', 'makera', ['6 4 2']),
];

interface Found {
  readonly count: number;
  readonly requests: number;
  readonly charged_usd: string;
  readonly recorded_usd: string;
  readonly notes: readonly string[];
  readonly differences: readonly {
    readonly day: string;
    readonly model: string;
    readonly key: string;
    readonly cause: string;
    readonly difference_usd: string;
  }[];
}

let opened: OpenTestDatabase;
let sandbox: Sandbox;

beforeAll(async () => {
  opened = await openTestDatabase();
  sandbox = await startSandbox({ apiKey: ADMIN_KEY });
  for (const [provider, day, model] of groups()) {
    await storeCalls(opened.database, provider, day, model, plantedIn(provider, day, model));
  }
  await opened.database.execute({ sql: 'ANALYZE generations' });
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await sandbox?.close();
  await opened?.close();
});

describe('ledger reconcile', () => {
  it(
    'finds nothing where the provider charged what was recorded',
    async () => {
      await report(() => []);
      for (const provider of PROVIDERS) {
        const { code, printed } = await reconcile(provider);
        expect(printed).toContain(`No difference. ${provider}, 2026-11-11 to 2026-11-20: charged `);
        expect(code).toBe(EXIT.ok);
      }
    },
    RUN_TIMEOUT_MS,
  );

  it(
    'finds thirty planted differences of eight kinds with their causes and amounts, and no other',
    async () => {
      const expected = await report(plantedIn);
      expect(PLANTED).toHaveLength(30);
      expect(new Set(PLANTED.map(({ cause }) => cause)).size).toBe(8);
      const found = new Map<string, string>();
      let requests = 0;
      for (const provider of PROVIDERS) {
        const { code, printed } = await reconcile(provider, '--json');
        expect(code).toBe(EXIT.failure);
        const answer = JSON.parse(printed) as Found;
        requests += answer.requests;
        for (const { day, model, cause, difference_usd: usd } of answer.differences) {
          found.set(`${day} ${model} ${cause}`, usd);
        }
      }
      expect(requests).toBe(PROVIDERS.length * DAYS.length * MODELS.length * CALLS_OF_GROUP);
      expect(found).toEqual(expected);
    },
    RUN_TIMEOUT_MS,
  );

  it(
    'prints a table with the key and what each cause was deduced from',
    async () => {
      const { printed } = await reconcile('makero');
      expect(printed).toMatch(/^DAY +MODEL +KEY +CAUSE +USD +DEDUCED FROM$/m);
      expect(printed).toMatch(
        /^2026-11-14 +makero-one +key_sandbox +retry +\+0\.\d+ +\+1 requests, .+ tokens in standard$/m,
      );
    },
    RUN_TIMEOUT_MS,
  );

  it(
    'says what is wrong with its arguments and its key',
    async () => {
      const days = ['--from', '2026-11-11', '--to', '2026-11-12'];
      const refused = async (...args: string[]): Promise<string> => {
        const { code, complained } = await command(['ledger', 'reconcile', ...args]);
        expect(code).toBe(EXIT.usage);
        return complained;
      };
      expect(await refused(...days)).toBe('--provider is required');
      expect(await refused('--provider', 'nobody', ...days)).toContain('--provider must be the slug of a provider');
      expect(await refused('--provider', 'makero', '--from', '2026-02-30', '--to', '2026-03-01')).toContain(
        '--from must be a day',
      );
      expect(await refused('--provider', 'makero', '--from', '2026-11-12', '--to', '2026-11-11')).toContain(
        '--from must not be',
      );
      expect(await refused('--provider', 'makero', '--from', '2026-01-01', '--to', '2026-11-11')).toContain(
        'at most 92 days',
      );
      expect(await refused('--provider', 'makero', '--rounding', 'x', ...days)).toContain(
        '--rounding must be an amount',
      );
      expect(await refused('--provider', 'makero', '--csv', '/nowhere', ...days)).toContain(
        'the CSV file cannot be read',
      );
      const keyless = await command(['ledger', 'reconcile', '--provider', 'makero', ...days], null);
      expect(keyless.complained).toContain('set OPENAI_ADMIN_KEY');
      const wrong = await command(['ledger', 'reconcile', '--provider', 'makero', ...days], 'sk-wrong');
      expect(wrong).toMatchObject({ code: EXIT.unable });
      expect(wrong.complained).toContain('answered with 401: the key must be an administrator');
      expect(wrong.complained).not.toContain('sk-wrong');
    },
    RUN_TIMEOUT_MS,
  );
});

/** One day each, after which the provider charges something that must not be given a cause that is not known. */
describe('ledger reconcile, of facts that it cannot distinguish', () => {
  const FREE = { 'billed as usual': 0n, 'with a surcharge': 1_234_567_000_000n };

  it('finds opposite differences of two keys of one day and model', async () => {
    const day = '2026-10-05';
    await storeCalls(opened.database, 'makero', day, 'one', []);
    const rows = ['day,model,key,tier,requests,input_tokens,cached_tokens,output_tokens,cost_usd'];
    const { charges } = chargesOf('makero', day, 'one', []);
    charges.forEach((charge, index) => rows.push(csvRow(charge, index % 2 === 0 ? 'key_a' : 'key_b', index)));
    const file = join(tmpdir(), `sluice-reconciliation-${process.pid}.csv`);
    await writeFile(file, rows.join('\n'));
    try {
      const { code, printed } = await reconcileDay('makero', day, '--csv', file, '--json');
      expect(code).toBe(EXIT.failure);
      const { differences, notes, charged_usd: charged, recorded_usd: recorded } = JSON.parse(printed) as Found;
      expect(charged).toBe(recorded);
      expect(differences.map(({ key, cause, difference_usd: usd }) => [key, cause, usd])).toEqual([
        ['key_a', 'unknown', '2.5'],
        ['key_b', 'unknown', '-2.5'],
      ]);
      expect(notes.join()).toContain('the record does not say with which of them a call was made');
    } finally {
      await rm(file);
    }
  });

  it('takes more tokens than one failed call can have had for no retry', async () => {
    const [day, model] = ['2026-10-06', 'one'];
    const planted = { cause: 'retry', provider: 'makera', day, model, size: 1 } as const;
    await storeCalls(opened.database, 'makera', day, model, [planted]);
    const call = { ...callOf('makera', 1), uncached: 3_000 };
    await charge([...chargesOf('makera', day, model, []).charges, chargeOf('makera', day, model, call)]);
    const { printed } = await reconcileDay('makera', day, '--json');
    expect((JSON.parse(printed) as Found).differences).toMatchObject([{ cause: 'unknown', model: 'makera-one' }]);
  });

  it.each(Object.entries(FREE))('does not take a loop of turns for one long prompt, %s', async (_how, surcharge) => {
    const [day, model] = [surcharge === 0n ? '2026-10-07' : '2026-10-08', 'two'];
    const turn: BilledCall = { ...callOf('makera', 1), uncached: 90_000, isLong: false };
    await storeLoop(opened.database, 'makera', day, model, [turn, turn, turn]);
    const charges = [turn, turn, turn].map((one) => chargeOf('makera', day, model, one));
    await charge([...charges, { ...charges[0]!, counts: {}, amounts: { other: surcharge } }]);
    const { printed } = await reconcileDay('makera', day, '--json');
    const found = (JSON.parse(printed) as Found).differences.map(({ cause, difference_usd: usd }) => [cause, usd]);
    expect(found).toEqual(surcharge === 0n ? [] : [['unknown', '1.234567']]);
  });

  it('does not say which turn of a loop the provider priced as long', async () => {
    const [day, model] = ['2026-10-09', 'three'];
    const turns = [90_000, 210_000].map((uncached) => ({ ...callOf('makera', 1), uncached, isLong: false }));
    await storeLoop(opened.database, 'makera', day, model, turns);
    await charge(turns.map((one) => chargeOf('makera', day, model, { ...one, isLong: one.uncached > 200_000 })));
    const { printed } = await reconcileDay('makera', day, '--json');
    const { differences } = JSON.parse(printed) as Found;
    expect(differences).toMatchObject([{ cause: 'unknown', model: 'makera-three' }]);
  });

  it('compares tools of calls and batch items one by one', async () => {
    const day = new Date().toISOString().slice(0, 10);
    const usage = emptyUsage('upstream');
    const tools = new Map([['code_interpreter', 1]]);
    const rates = {
      prompt: 0n,
      completion: 0n,
      webSearch: parseRate('0.01'),
      tools: { code_interpreter: parseRate('0.03') },
    };
    const cost = priceUsage(rates, usage, { webSearches: 1, tools });
    const place = { batchId: 'batch-1-00000000000000000000', seq: 0, customId: 'line-0', lease: {} as SegmentLease };
    const {
      generationId: _id,
      lease: _lease,
      seq: _seq,
      ...line
    } = answered(place, {
      status: 200,
      body: Buffer.from('{}'),
      usage,
      cost,
    });
    const { id } = await chargedBatch(opened.database, 2, line);
    await opened.database.execute({
      sql: `UPDATE batches SET provider = 'makero', upstream_model = 'makero-four', credential_id = NULL WHERE id = $1`,
      values: [id],
    });
    const file = join(tmpdir(), `sluice-reconciliation-tools-${process.pid}.csv`);
    const differences = async (search: string, code: string): Promise<Found['differences']> => {
      const rows = [`${day},,web_search,0,${search}`, `${day},,code_execution,0,${code}`, `${day},makero-four,,2,0`];
      await writeFile(file, ['day,model,tool,requests,cost_usd', ...rows].join('\n'));
      const { printed } = await reconcileDay('makero', day, '--csv', file, '--json');
      return (JSON.parse(printed) as Found).differences;
    };
    try {
      expect(await differences('0.02', '0.06')).toEqual([]);
      expect(await differences('0.05', '0.03')).toMatchObject([
        { model: '-', difference_usd: '-0.03', detail: expect.stringContaining('code_interpreter') },
        { model: '-', difference_usd: '0.03', detail: expect.stringContaining('web_search') },
      ]);
    } finally {
      await rm(file);
    }
  });

  function reconcileDay(provider: string, day: string, ...more: string[]): Promise<Outcome> {
    return command(['ledger', 'reconcile', '--provider', provider, '--from', day, '--to', day, ...more]);
  }

  async function charge(charges: readonly Charge[]): Promise<void> {
    await control('DELETE');
    await control('POST', { charges: charges.map(toWire) });
  }

  /** 2.50 USD more on the first call, which is of the first key, and less on the second. */
  function csvRow({ day, model, tier, counts, amounts }: Charge, key: string, index: number): string {
    const extra = [2_500_000_000_000n, -2_500_000_000_000n][index] ?? 0n;
    const cost = Object.values(amounts).reduce((sum, amount) => sum + amount, extra);
    const {
      requests,
      uncached_input_tokens: uncached = 0,
      cache_read_input_tokens: cached = 0,
      output_tokens: out,
    } = counts;
    return [day, model, key, tier, requests, uncached + cached, cached, out, decimalOf(cost)].join(',');
  }
});

function plant(cause: PlantedCause, provider: Planted['provider'], places: readonly string[]): Planted[] {
  return places.map((place) => {
    const [day = 0, model = 0, size = 0] = place.split(' ').map(Number);
    return { cause, provider, day: DAYS[day]!, model: MODELS[model]!, size };
  });
}

type Group = readonly [Planted['provider'], string, string];

function groups(): Group[] {
  return PROVIDERS.flatMap((provider) => DAYS.flatMap((day) => MODELS.map((model): Group => [provider, day, model])));
}

function plantedIn(...[provider, day, model]: Group): Planted[] {
  return PLANTED.filter((one) => one.provider === provider && one.day === day && one.model === model);
}

/** Puts into the sandbox's reports what the provider charged. Returns the differences that are to be found. */
async function report(planted: (...group: Group) => readonly Planted[]): Promise<Map<string, string>> {
  await control('DELETE');
  const expected = new Map<string, string>();
  let charges: Charge[] = [];
  const flush = async (): Promise<void> => {
    await control('POST', { charges: charges.map(toWire) });
    charges = [];
  };
  for (const group of groups()) {
    const causes = planted(...group);
    const { charges: more, added } = chargesOf(...group, causes);
    charges.push(...more);
    for (const cause of causes) expected.set(keyOf(cause), formatUsd(added));
    if (charges.length >= PAGE) await flush();
  }
  await flush();
  return expected;
}

async function control(method: string, body?: object): Promise<void> {
  const answer = await fetch(`${sandbox.url}/sandbox/charges`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}

function toWire({ form, day, model, tier, isLong, isBatch, counts, amounts }: Charge): object {
  const usd = Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, decimalOf(amount)]));
  return { form, day, model, tier, long: isLong, batch: isBatch, counts, usd };
}

interface Outcome {
  readonly code: number;
  readonly printed: string;
  readonly complained: string;
}

function reconcile(provider: string, ...more: string[]): Promise<Outcome> {
  const days = ['--from', DAYS[0]!, '--to', DAYS.at(-1)!];
  return command(['ledger', 'reconcile', '--provider', provider, ...days, ...more]);
}

async function command(argv: readonly string[], adminKey: string | null = ADMIN_KEY): Promise<Outcome> {
  let printed = '';
  let complained = '';
  const installation: Installation = {
    serviceName: 'sluice',
    bus: () => Promise.reject(new Error('no app is asked')),
    database: async () => opened.database,
    catalogue: async () => parseCatalogue([{ name: 'test.yaml', text: catalogueText(sandbox.url) }]),
    adminKey: () => (adminKey === null ? null : new Secret(adminKey)),
  };
  const output = { print: (text: string) => (printed += text), complain: (text: string) => (complained += text) };
  return { code: await run(argv, commands, installation, output), printed, complained };
}

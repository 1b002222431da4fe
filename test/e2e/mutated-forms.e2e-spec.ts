import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { IS_FULL } from '../support/scale';
import { catalogueOf, type TestModel } from '../support/catalogue';
import { eventually } from '../support/eventually';
import { Installation, PROVIDER_KEY } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { anyRecipe, MUTATION_NAMES, mutatedForm, type FormRoute, type MutatedForm, type Recipe } from './mutated-forms';
import { bytesOf, open, readAnswer, write, type RawAnswer } from './raw-http';
import { findInsides } from './refusals';

const FORMS = Number(process.env.MUTATED_FORMS ?? (IS_FULL ? 2_000 : 700));
/** The same seed makes the same forms. Others than the usual one are tried by hand, so that no run fails by chance. */
const SEED = Number(process.env.MUTATED_FORMS_SEED ?? 1);
const AT_ONCE = 50;
const PATIENCE_MS = 15_000;
/** The gateway's, so that what is kept cannot be mistaken for what merely has not been collected yet. */
const HEAP_MIB = 160;
/** Of the forms of one round, which are 10 MB at most, and of the heap on its way to its limit. */
const MOST_GROWTH_MIB = 96;
const VIDEO = { durations: [4], resolutions: ['720p'], aspect_ratios: ['16:9'], frame_images: ['first_frame'] };

let upstream: FakeUpstream;
let temporary: string;
let installation: Installation;
let tenant: Tenant;
/** How often each kind of answer came, by route; `gone` where the client did not wait for one. */
const seen = new Map<string, number>();
const residentMib: number[] = [];
let filesBefore = 0;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = answer;
  temporary = mkdtempSync(join(tmpdir(), 'sluice-forms-'));
  mkdirSync(join(temporary, 'blobs'));
  installation = await Installation.start({
    catalogue: catalogue(),
    apps: ['auth', 'gateway', 'video-worker'],
    environment: {
      TMPDIR: temporary,
      BLOB_DIR: join(temporary, 'blobs'),
      VIDEO_SUBMISSIONS_PER_MINUTE: '1000000',
    },
    environmentOf: { gateway: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } },
  });
  tenant = await new Operator(installation).createTenant('Forms', '1000000');
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await upstream?.close();
  rmSync(temporary, { recursive: true, force: true });
}, 240_000);

function catalogue(): string {
  const model = (name: string, api: string): TestModel => ({
    slug: `forms/${name}`,
    provider: `forms-${name}`,
    baseUrl: `${upstream.origin}/${name}/v1`,
    apis: [api],
    pricing: { prompt: '0', completion: '0' },
  });
  const parsed = JSON.parse(catalogueOf([model('speech', 'transcription'), model('film', 'video')])) as {
    models: { endpoints: { pricing: object; capabilities: object }[] }[];
  };
  const [speech, film] = parsed.models.map(({ endpoints }) => endpoints[0]!);
  speech!.pricing = { audio_second: '0.0001' };
  Object.assign(film!, { pricing: { video_second: '0.01' }, capabilities: { video: VIDEO } });
  return JSON.stringify(parsed);
}

/** Recordings are always understood; no video is made, so each accepted job ends and gives its hold back. */
function answer(response: ServerResponse, { path }: ReceivedRequest): void {
  const isVideo = path.startsWith('/film/');
  response.writeHead(isVideo ? 400 : 200, { 'content-type': 'application/json' });
  response.end(isVideo ? '{"error":{"message":"not this","code":"moderation_blocked"}}' : '{"text":"Hello."}');
}

/** Null when the connection closed without an answer. @throws Error when that may not be */
async function send({ path, headers, pieces, ending }: MutatedForm): Promise<RawAnswer | null> {
  const socket = await open(installation.baseUrl);
  try {
    const answering = readAnswer(socket);
    const answered = ending === 'wait' ? answering : answering.catch(() => null);
    const always = [
      ['Host', 'gateway'],
      ['Authorization', `Bearer ${tenant.apiKey}`],
    ] as const;
    const head = bytesOf({ method: 'POST', target: `/api/v1${path}`, headers: [...always, ...headers] });
    for (const piece of [head, ...pieces]) {
      await write(socket, piece);
      await nextTurn();
    }
    if (ending === 'finish') socket.end();
    if (ending === 'break') socket.resetAndDestroy();
    return await answered;
  } finally {
    socket.destroy();
  }
}

/** What is wrong with an answer; null where all is well. */
function findBlame(answered: RawAnswer | null): string | null {
  if (answered === null) return null;
  const { status, body } = answered;
  const secrets = [PROVIDER_KEY, tenant.apiKey, installation.seed.apiKey];
  if (secrets.some((secret) => body.includes(secret))) return 'a secret came through';
  return status === 200 || status === 202 ? null : findRefusalBlame(answered);
}

function findRefusalBlame({ status, headers, body }: RawAnswer): string | null {
  if (status < 400 || status > 499) return `status ${status}`;
  if (!/^application\/json\b/.test(headers['content-type'] ?? '')) return 'a refusal that is no JSON';
  const { error } = JSON.parse(body) as { error: { code?: unknown; message?: unknown } };
  if (error?.code !== status || typeof error.message !== 'string') return 'a refusal in the wrong shape';
  return findInsides(body);
}

async function judge(recipe: Recipe): Promise<void> {
  const told = JSON.stringify(recipe);
  const answered = await send(mutatedForm(recipe)).catch((error: unknown) => {
    throw new Error(`no answer to ${told}`, { cause: error });
  });
  const kind = `${recipe.route} ${answered?.status ?? 'gone'}`;
  seen.set(kind, (seen.get(kind) ?? 0) + 1);
  const blame = findBlame(answered);
  if (blame !== null) throw new Error(`${blame}\n${told}\n${answered?.body.slice(0, 2_000)}`);
}

const goodForm = (route: FormRoute): Promise<RawAnswer | null> =>
  send(mutatedForm({ route, mutations: ['nothing'], seed: 0 }));

/** What the gateway's process holds in memory. */
function gatewayMib(): number {
  const status = readFileSync(`/proc/${installation.pidOf('gateway')}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1024;
}

const openFiles = (): number => readdirSync(`/proc/${installation.pidOf('gateway')}/fd`).length;

const seenOf = (...kinds: string[]): number => kinds.reduce((sum, kind) => sum + (seen.get(kind) ?? 0), 0);

function filesIn(folder: string): string[] {
  return existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((one) => (one.isFile() ? [one.name] : []))
    : [];
}

it('a form is good before it is mutated, of either route', async () => {
  expect(await goodForm('transcription')).toMatchObject({ status: 200 });
  expect(await goodForm('video')).toMatchObject({ status: 202 });
  filesBefore = openFiles();
});

describe(`${FORMS} mutated forms`, () => {
  it('are each answered well or refused with a 4xx', async () => {
    const many = fc.array(anyRecipe, { minLength: AT_ONCE, maxLength: AT_ONCE });
    await fc.assert(
      fc.asyncProperty(many, async (recipes) => {
        await Promise.all(recipes.map(judge));
        residentMib.push(gatewayMib());
      }),
      // The first form that is answered badly says itself what was done to it; smaller ones would say no more.
      { numRuns: Math.ceil(FORMS / AT_ONCE), endOnFailure: true, seed: SEED },
    );
  });

  it('were of every kind', () => {
    const kinds = ['transcription 200', 'transcription 400', 'video 202', 'video 400'];
    const rare = kinds.filter((kind) => (seen.get(kind) ?? 0) < FORMS / 100);
    expect({ rare, seen: rare.length === 0 ? null : Object.fromEntries(seen) }).toEqual({ rare: [], seen: null });
  });

  it('leave the gateway as large as it was, with no file and no connection open', async () => {
    // The first rounds fill the heap that every round uses.
    const [warm = 0] = residentMib.slice(4);
    expect(Math.max(...residentMib) - warm).toBeLessThan(MOST_GROWTH_MIB);
    await eventually('connections are closed', PATIENCE_MS, () => (openFiles() <= filesBefore + 20 ? true : undefined));
    expect(filesIn(temporary)).toEqual([]);
  });

  it('leave nothing held, nothing open and no trace of what was refused', async () => {
    const row = await eventually('every call and every job has ended', PATIENCE_MS, async () => {
      const found = await installation.database.firstRow<{ open: number; held: string; keys: number; videos: number }>({
        sql: `SELECT (SELECT count(*) FROM generations WHERE state = 'open')::integer
                     + (SELECT count(*) FROM videos WHERE finished_at IS NULL)::integer
                     + (SELECT count(*) FROM outbox)::integer AS open,
                     (SELECT sum(held_usd)::text FROM ledger_accounts) AS held,
                     (SELECT count(*) FROM idempotency_keys)::integer AS keys,
                     (SELECT count(*) FROM videos)::integer AS videos`,
      });
      return found!.open === 0 && Number(found!.held) === 0 ? found! : undefined;
    });
    expect(row.keys).toBe(0);
    // With the good one before, and perhaps some whose client did not wait to hear it.
    expect(row.videos).toBeGreaterThanOrEqual(seenOf('video 202') + 1);
    expect(row.videos).toBeLessThanOrEqual(seenOf('video 202', 'video gone') + 1);
    expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
  });

  it('kill nobody, and leave no failure of ours in the logs', () => {
    expect(['auth', 'gateway', 'video-worker'].map((name) => installation.deathsOf(name))).toEqual([0, 0, 0]);
    for (const name of readdirSync(installation.folder).filter((file) => /\.log(\.1)?$/.test(file))) {
      const text = readFileSync(join(installation.folder, name), 'utf8');
      expect(text.includes(tenant.apiKey)).toBe(false);
      expect(text.split('\n').filter((line) => /"level":"(?:error|fatal)"/.test(line))).toEqual([]);
    }
  });

  it('spoil no good form after them', async () => {
    expect(await goodForm('transcription')).toMatchObject({ status: 200 });
    expect(await goodForm('video')).toMatchObject({ status: 202 });
  });
});

it('a mutated form follows from its recipe', () => {
  const digests = (): string[] =>
    MUTATION_NAMES.map((name) => {
      const { pieces, ...rest } = mutatedForm({ route: 'video', mutations: [name], seed: 7 });
      return createHash('sha256').update(Buffer.concat(pieces)).update(JSON.stringify(rest)).digest('hex');
    });
  expect(digests()).toEqual(digests());
});

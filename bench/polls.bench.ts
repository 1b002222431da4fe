/**
 * What a look at a large batch costs while it runs: GET /batches/{id}?results=false, in turns with GET /health/live,
 * which is the least that the same process can answer, over one connection each.
 *
 * Options: --lines 200000 --polls 2000 --latency 50 (of the upstream, in milliseconds) --concurrency 64
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from 'undici';
import { catalogueOf } from '../test/support/catalogue';
import { Installation } from '../test/support/installation';
import { Upstream } from '../test/support/upstream';
import { uploadBatch } from './support/batch-upload';
import { percentiles, runBenchmark } from './support/comparison';
import { rounded } from './support/statistics';

const SCRIPT = 'plain';
const MODEL = { slug: 'bench/plain', provider: 'bench', pricing: { prompt: '0.000000001', completion: '0.000000002' } };
/** Polls come one after the other with a pause, as those of a patient caller. */
const PAUSE_MS = 10;
const WARM_UP_POLLS = 200;
const GOAL_MS = 5;

interface Counts {
  readonly status: string;
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number };
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      lines: { type: 'string', default: '200000' },
      polls: { type: 'string', default: '2000' },
      latency: { type: 'string', default: '50' },
      concurrency: { type: 'string', default: '64' },
    },
  });
  const [lines, polls, latencyMs, concurrency] = [values.lines, values.polls, values.latency, values.concurrency].map(
    Number,
  );
  return { lines: lines!, polls: polls!, latencyMs: latencyMs!, concurrency: concurrency! };
}

type Options = ReturnType<typeof readOptions>;

const bodyOf = (index: number): Buffer =>
  Buffer.from(`{"max_tokens":16,"messages":[{"role":"user","content":"Line ${index} of a long batch, please."}]}`);

/** The answer to a GET, and how long it took until its last byte. */
class Caller {
  private readonly client: Client;

  constructor(
    origin: string,
    private readonly path: string,
    private readonly headers: Record<string, string> = {},
  ) {
    this.client = new Client(origin);
  }

  async get(): Promise<{ text: string; tookMs: number }> {
    const beganMs = performance.now();
    const answer = await this.client.request({ method: 'GET', path: this.path, headers: this.headers });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${this.path} was answered with ${answer.statusCode}: ${text}`);
    return { text, tookMs: performance.now() - beganMs };
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

async function untilRunning(poll: Caller): Promise<void> {
  for (;;) {
    const { status, request_counts: counts } = JSON.parse((await poll.get()).text) as Counts;
    if (status === 'in_progress' && counts.completed > 0) return;
    if (status !== 'validating' && status !== 'in_progress') throw new Error(`the batch is ${status}`);
    await delay(100);
  }
}

async function measure(installation: Installation, { lines, polls, latencyMs, concurrency }: Options): Promise<object> {
  const { apiKey } = installation.seed;
  const id = await uploadBatch({ gatewayUrl: installation.baseUrl, apiKey, model: MODEL.slug, lines, bodyOf });
  const { origin, pathname } = new URL(installation.baseUrl);
  const authorization = `Bearer ${apiKey}`;
  const poller = new Caller(origin, `${pathname}/batches/${id}?results=false`, { authorization });
  const barely = new Caller(origin, '/health/live');
  try {
    await untilRunning(poller);
    const took = { poll: [] as number[], bare: [] as number[] };
    const seen: Counts[] = [];
    for (let round = 0; round < WARM_UP_POLLS + polls; round += 1) {
      const [one, other] = [await poller.get(), await barely.get()];
      seen.push(JSON.parse(one.text) as Counts);
      if (round >= WARM_UP_POLLS) {
        took.poll.push(one.tookMs);
        took.bare.push(other.tookMs);
      }
      await delay(PAUSE_MS);
    }
    const [first, last] = [seen[0]!, seen.at(-1)!];
    if (last.status !== 'in_progress') throw new Error(`the batch was ${last.status} before all polls were made`);
    const [poll, bare] = [percentiles(took.poll), percentiles(took.bare)];
    return {
      benchmark: 'polls',
      lines,
      polls,
      latency_ms: latencyMs,
      concurrency,
      completed_at_first_poll: first.request_counts.completed,
      completed_at_last_poll: last.request_counts.completed,
      poll_ms: poll,
      bare_ms: bare,
      added_p50_ms: rounded(poll.p50 - bare.p50, 3),
      goal_ms: GOAL_MS,
      is_within_goal: poll.p50 <= GOAL_MS,
    };
  } finally {
    await Promise.all([poller.close(), barely.close()]);
  }
}

runBenchmark(async () => {
  const options = readOptions();
  const upstream = await Upstream.start({ [SCRIPT]: { latencyMs: options.latencyMs } });
  const installation = await Installation.start({
    apps: ['auth', 'batch-worker', 'gateway'],
    catalogue: catalogueOf([{ ...MODEL, baseUrl: upstream.baseUrl(SCRIPT), maxConcurrency: options.concurrency }]),
    environment: {
      BATCH_CONCURRENCY: String(options.concurrency),
      BATCH_READS_PER_MINUTE: '1000000',
      LOG_LEVEL: 'warn',
    },
  });
  try {
    return await measure(installation, options);
  } finally {
    await installation.stop();
    await upstream.stop();
  }
});

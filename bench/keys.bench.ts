import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { hashApiKey, labelApiKey, mintApiKey } from '@libs/contracts';
import { runBenchmark } from './support/comparison';
import { startInstallation, type Installation } from './support/installation';
import { rounded } from './support/statistics';

/**
 * How many questions a gateway asks the auth and credentials apps while many API keys are in use: each of
 * BENCH_KEYS keys calls, one after another, as fast as CONNECTIONS connections allow. The gateway's own metrics say
 * how many questions it asked.
 */
const KEYS = Number(process.env.BENCH_KEYS ?? 10_000);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 20);
const CONNECTIONS = 64;
const ROWS_PER_INSERT = 1_000;
const BODY = JSON.stringify({ model: 'bench/chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 8 });

type Counts = Readonly<Record<string, number>>;

/** Questions by contract, as the gateway has counted them since its start. */
async function questions(metricsUrl: string): Promise<Counts> {
  const text = await (await fetch(metricsUrl)).text();
  const counts: Record<string, number> = {};
  for (const [, contract = '', count] of text.matchAll(
    /^sluice_call_seconds_count\{.*?contract="([^"]+)".*?\} (\d+)/gm,
  )) {
    counts[contract] = (counts[contract] ?? 0) + Number(count);
  }
  return counts;
}

/** Keys of the organization's default workspace, stored at once. */
async function storeKeys({ database, organizationId }: Installation): Promise<string[]> {
  const keys = Array.from({ length: KEYS }, () => mintApiKey('sluice', 'api'));
  const workspace = await database.firstRow<{ id: string }>({
    sql: 'SELECT id FROM workspaces WHERE organization_id = $1 AND is_default',
    values: [organizationId],
  });
  for (let at = 0; at < KEYS; at += ROWS_PER_INSERT) {
    const some = keys.slice(at, at + ROWS_PER_INSERT);
    await database.execute({
      sql: `INSERT INTO api_keys (hash, id, organization_id, workspace_id, kind, name, label)
            SELECT hash, id, $3, $4, 'api', 'bench', label
            FROM unnest($1::text[], $2::uuid[], $5::text[]) AS k(hash, id, label)`,
      values: [
        some.map((key) => hashApiKey(key)),
        some.map(() => randomUUID()),
        organizationId,
        workspace!.id,
        some.map((key) => labelApiKey(key)),
      ],
    });
  }
  return keys;
}

/** Callers that use one key after another, over one gateway. */
class Callers {
  calls = 0;
  readonly statuses: Record<string, number> = {};
  readonly #pool: Pool;
  readonly #path: string;

  constructor(
    gatewayUrl: string,
    private readonly keys: readonly string[],
  ) {
    const { origin, pathname } = new URL(gatewayUrl);
    this.#pool = new Pool(origin, { connections: CONNECTIONS });
    this.#path = `${pathname}/chat/completions`;
  }

  async run(forMs: number): Promise<void> {
    const untilMs = performance.now() + forMs;
    const call = async (): Promise<void> => {
      while (performance.now() < untilMs) await this.#call(this.keys[this.calls % this.keys.length]!);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, call));
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #call(key: string): Promise<void> {
    this.calls += 1;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await this.#pool.request({ method: 'POST', path: this.#path, headers, body: BODY });
    await answer.body.dump();
    this.statuses[answer.statusCode] = (this.statuses[answer.statusCode] ?? 0) + 1;
  }
}

runBenchmark(async () => {
  const installation = await startInstallation({ creditUsd: '100000' });
  const { gatewayUrl, gatewayMetricsUrl } = installation;
  const callers = new Callers(gatewayUrl, await storeKeys(installation));
  try {
    // Until each key was used once, then measured.
    while (callers.calls < KEYS) await callers.run(1_000);
    const [callsBefore, before] = [callers.calls, await questions(gatewayMetricsUrl)];
    const startedMs = performance.now();
    await callers.run(SECONDS * 1_000);
    const after = await questions(gatewayMetricsUrl);
    const seconds = (performance.now() - startedMs) / 1_000;
    const rates = Object.entries(after)
      .map(([contract, count]) => [contract, (count - (before[contract] ?? 0)) / seconds] as const)
      .filter(([, rate]) => rate > 0);
    const all = rates.reduce((sum, [, rate]) => sum + rate, 0);
    return {
      benchmark: 'keys',
      busy_keys: KEYS,
      calls_per_second: rounded((callers.calls - callsBefore) / seconds, 0),
      statuses: callers.statuses,
      questions_per_second: rounded(all, 2),
      by_contract: Object.fromEntries(rates.map(([contract, rate]) => [contract, rounded(rate, 2)])),
    };
  } finally {
    await callers.close();
    await installation.stop();
  }
});

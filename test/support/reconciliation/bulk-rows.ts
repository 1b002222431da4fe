import type { Database } from '@libs/persistence';
import {
  CALLS_OF_GROUP,
  callOf,
  costOf,
  modelOf,
  pricesOf,
  usdOf,
  type BilledCall,
  type ProviderName,
} from './billed-calls';
import type { Planted } from './planted-differences';

const TENANT = '7c1f9c1e-0000-4000-8000-000000000001';
const KEY_HASH = 'ab'.repeat(32);

/** Stores the calls of one day and model, and what Sluice knows of the causes that were planted there. */
export async function storeCalls(
  database: Database,
  provider: ProviderName,
  day: string,
  model: string,
  planted: readonly Planted[],
): Promise<void> {
  const slug = `${provider}/${model}`;
  const retries = planted.find(({ cause }) => cause === 'retry')?.size ?? 0;
  const rows = Array.from({ length: CALLS_OF_GROUP }, (_, index) => {
    const { uncached, cached, write5m, write1h, output, tier } = callOf(provider, index);
    const attempt = { model: slug, provider, latencyMs: 10 };
    const failed =
      index < retries ? [{ ...attempt, status: 503 }] : index % 50 === 0 ? [{ ...attempt, status: 429 }] : [];
    return {
      id: `gen-${day}-${slug}-${index}`,
      prompt: uncached + cached + write5m + write1h,
      cached,
      output,
      cost: costOf(provider, callOf(provider, index)),
      details: {
        attempts: [...failed, { ...attempt, status: 200 }],
        serviceTier: tier === 'default' ? undefined : tier,
        cacheWriteTokens: write5m + write1h || undefined,
        cacheWrite1hTokens: write1h || undefined,
      },
    };
  });
  await database.execute({
    sql: `INSERT INTO generations (id, created_on, created_at, settled_at, organization_id, workspace_id, api_key_hash,
            api, model, streamed, state, hold_usd, provider, upstream_model, status_code, outcome, usage_provenance,
            prompt_tokens, cached_tokens, completion_tokens, cost_usd, details)
          SELECT id, $2::date, $2::date, $2::date, $3, $3, $4, 'chat', $5, false, 'settled', 0, $6, $7, 200, 'completed',
            'upstream', prompt, cached, output, cost, details
          FROM json_to_recordset($1) AS t(id text, prompt bigint, cached bigint, output bigint, cost numeric, details json)`,
    values: [JSON.stringify(rows), day, TENANT, KEY_HASH, slug, provider, modelOf(provider, model)],
  });
  for (const { cause, size } of planted) {
    if (cause === 'abandoned_call') await storeAbandoned(database, day, slug, size);
    if (cause === 'orphan_batch') await storeLostOrder(database, { provider, day, model, size });
  }
}

/** Stores one call in which the model ran several times, with the sums of its turns. */
export async function storeLoop(
  database: Database,
  provider: ProviderName,
  day: string,
  model: string,
  turns: readonly BilledCall[],
): Promise<void> {
  const slug = `${provider}/${model}`;
  const total = (tokens: (turn: BilledCall) => number): number => turns.reduce((sum, turn) => sum + tokens(turn), 0);
  const cost = turns.flatMap((turn) => Object.values(pricesOf(provider, turn))).reduce((sum, price) => sum + price, 0n);
  const writes = total(({ write5m, write1h }) => write5m + write1h);
  const details = {
    attempts: turns.map(() => ({ model: slug, provider, latencyMs: 10, status: 200 })),
    cacheWriteTokens: writes || undefined,
    cacheWrite1hTokens: total(({ write1h }) => write1h) || undefined,
  };
  await database.execute({
    sql: `INSERT INTO generations (id, created_on, created_at, settled_at, organization_id, workspace_id, api_key_hash,
            api, model, streamed, state, hold_usd, provider, upstream_model, status_code, outcome, usage_provenance,
            prompt_tokens, cached_tokens, completion_tokens, cost_usd, details)
          VALUES ($1, $2::date, $2::date, $2::date, $3, $3, $4, 'responses', $5, false, 'settled', 0, $6, $7, 200,
            'completed', 'upstream', $8, $9, $10, $11, $12)`,
    values: [
      `gen-loop-${day}-${slug}`,
      day,
      TENANT,
      KEY_HASH,
      slug,
      provider,
      modelOf(provider, model),
      total(({ uncached, cached }) => uncached + cached) + writes,
      total(({ cached }) => cached),
      total(({ output }) => output),
      usdOf(cost),
      JSON.stringify(details),
    ],
  });
}

async function storeAbandoned(database: Database, day: string, slug: string, size: number): Promise<void> {
  await database.execute({
    sql: `INSERT INTO generations (id, created_on, created_at, settled_at, organization_id, workspace_id, api_key_hash,
            api, model, streamed, state, hold_usd)
          SELECT 'gen-lost-' || $1 || $2 || n, $1::date, $1::date, $1::date, $3, $3, $4, 'chat', $2, true, 'abandoned', 0
          FROM generate_series(1, $5::integer) AS n`,
    values: [day, slug, TENANT, KEY_HASH, size],
  });
}

/** An order that was sent, searched for in vain, and sent again. */
async function storeLostOrder(
  database: Database,
  { provider, day, model, size }: Omit<Planted, 'cause'>,
): Promise<void> {
  await database.execute({
    sql: `INSERT INTO native_batches (reference, batch_id, batch_number, created_on, part, first_segment, last_segment,
            first_seq, last_seq, endpoint, model, provider, upstream_model, organization_id, workspace_id, api_key_hash,
            finish_by, state, upstream_id, sent_lines, submitted_at, losses)
          VALUES ($1, $1, (SELECT count(*) + 1 FROM native_batches), $2::date, 0, 0, 0, 0, $3::integer - 1,
            '/v1/chat/completions', $4, $5, $6, $7, $7, $8, now(), 'done', $1, $3::integer, $2::date + interval '9 hours', 1)`,
    values: [
      `order-${day}-${model}-${provider}`,
      day,
      size,
      `${provider}/${model}`,
      provider,
      modelOf(provider, model),
      TENANT,
      KEY_HASH,
    ],
  });
}

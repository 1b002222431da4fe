import { setTimeout as delay } from 'node:timers/promises';
import type { BatchBody } from '../support/client';
import type { BatchRecord } from './evidence';
import type { StormHistory } from './history';
import { see, TERMINAL } from './loads/batch-submitter';
import { GATEWAYS } from './parts';
import type { StormClient } from './storm-client';
import type { StormInstallation } from './storm-installation';

/** Longer than a lease of 30 s, the sweep of open calls every 30 s, and what comes after them. */
const LONGEST_WAIT_MS = 240_000;
const LOOK_EVERY_MS = 2_000;
const MOST_TRIES = 4;
/** How old an open call must be before the gateway gives it up, with room. */
const ABANDONED_AFTER = '16 minutes';

/** Shortens waits of minutes or hours that protect nothing once every fault is over. */
const SHORTEN = [
  `UPDATE native_batches SET available_at = now() WHERE NOT is_leased AND available_at > now() AND available_at < 'infinity'`,
  `UPDATE webhook_deliveries SET next_attempt_at = now()
   WHERE delivered_at IS NULL AND given_up_at IS NULL AND next_attempt_at > now()`,
  `UPDATE videos SET next_at = now() WHERE finished_at IS NULL AND next_at > now() + interval '10 seconds'`,
];

const UNFINISHED = `
  SELECT 'batch ' || id || ' is ' || status AS what FROM batches WHERE finalized_at IS NULL
  UNION ALL SELECT 'video ' || id || ' is ' || status || ' at ' || step FROM videos WHERE finished_at IS NULL
  UNION ALL SELECT 'webhook ' || id || ' was not delivered: ' || coalesce(last_error, last_status::text, 'not tried')
    FROM webhook_deliveries WHERE delivered_at IS NULL AND given_up_at IS NULL
  UNION ALL SELECT 'outbox message ' || id || ' ' || contract FROM outbox
  UNION ALL SELECT 'call ' || id || ' is open' FROM generations WHERE state = 'open'
  LIMIT 200`;

/** Open calls at the moment at which every fault was over, for the checker: only a dead gateway leaves some. */
export interface OpenCall {
  readonly id: string;
  readonly createdMs: number;
}

/**
 * Waits until nothing is left to do: no batch, video, webhook or call is open. @returns what is, when it gives up.
 */
export async function untilQuiet(
  installation: StormInstallation,
  tell: (what: string) => void,
): Promise<{ readonly unfinished: string[]; readonly openCalls: readonly OpenCall[] }> {
  const { database } = installation;
  const startedAt = performance.now();
  let openCalls: readonly OpenCall[] | null = null;
  let unfinished: string[] = [];
  for (let looks = 1; performance.now() - startedAt < LONGEST_WAIT_MS; looks += 1) {
    for (const sql of SHORTEN) await database.execute({ sql });
    unfinished = (await database.rows<{ what: string }>({ sql: UNFINISHED })).map(({ what }) => what);
    if (unfinished.length === 0) return { unfinished, openCalls: openCalls ?? [] };
    if (openCalls === null && looks * LOOK_EVERY_MS > 20_000) openCalls = await giveUpOpenCalls(installation);
    if (looks % 10 === 0) tell(`waiting for ${unfinished.length}: ${unfinished.slice(0, 3).join('; ')}`);
    await delay(LOOK_EVERY_MS);
  }
  return { unfinished, openCalls: openCalls ?? [] };
}

/** As if a quarter of an hour had passed for calls that are still open. */
async function giveUpOpenCalls({ database }: StormInstallation): Promise<OpenCall[]> {
  const rows = await database.rows<{ id: string; created: string }>({
    sql: `SELECT id, (extract(epoch FROM created_at) * 1000)::text AS created FROM generations WHERE state = 'open'`,
  });
  await database.execute({
    sql: `UPDATE generations SET created_at = created_at - interval '${ABANDONED_AFTER}' WHERE state = 'open'`,
  });
  return rows.map(({ id, created }) => ({ id, createdMs: Number(created) }));
}

/** Looks at every batch once more, for its results. */
export async function readResults(client: StormClient, history: StormHistory, apiKey: string): Promise<void> {
  for (const [index, record] of history.batches.entries()) {
    if (record.wasDeleted) continue;
    await readResult(client, record, apiKey, index);
    history.note('batch-end', {
      id: record.id,
      statuses: record.statuses,
      counts: record.batch?.request_counts,
      ended: TERMINAL.has(record.batch?.status ?? ''),
    });
  }
}

async function readResult(client: StormClient, record: BatchRecord, key: string, index: number): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const gateway = GATEWAYS[(index + tries) % GATEWAYS.length]!;
    const ask = { actor: 'calm', what: 'GET /batches/:id', gateway, key, method: 'GET' } as const;
    const { status, body } = await client.ask<BatchBody>({ ...ask, path: `/batches/${record.id}` });
    if (status === 200 && body !== null) return see(record, body);
    if (status === 404) {
      record.wasLost = true;
      return;
    }
  }
}

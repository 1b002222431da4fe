/** Most rows that a claim may take, by holder. */
interface HolderRooms {
  readonly of: Readonly<Record<string, number>>;
  /** For holders that are not in `of`. */
  readonly newcomer: number;
}

/**
 * Most rows that a claim may take of each provider, and of each organization at a provider (`provider organization`).
 */
export interface ClaimRooms {
  readonly accounts: HolderRooms;
  readonly providers: HolderRooms;
}

interface ClaimedTable {
  readonly table: string;
  /** Column names: the key, and the time that orders the queue. */
  readonly id: string;
  readonly at: string;
  /** SQL condition of the index on provider, organization and `at`. */
  readonly open: string;
  /** SQL condition for open rows that may be claimed. */
  readonly due: string;
}

/**
 * Returns SQL that selects `id` and `at` of rows to claim: the oldest of each account and provider, up to its limit. So
 * rows that wait for a slow provider do not block rows of other providers.
 *
 * Reads as many rows as fit into the limits, however many wait: the accounts are found by steps through the index.
 * @param rooms SQL of {@link ClaimRooms} as json; null if there are no limits
 * @param limit SQL of the most rows that are wanted
 */
export function withinRooms({ table, id, at, open, due }: ClaimedTable, rooms: string, limit: string): string {
  const roomOf = (kind: string, holder: string): string =>
    `coalesce((${rooms}::jsonb->'${kind}'->'of'->>(${holder}))::integer, (${rooms}::jsonb->'${kind}'->>'newcomer')::integer, ${limit}::integer)`;
  return `
    WITH RECURSIVE accounts AS (
      (SELECT provider, organization_id FROM ${table} WHERE ${open} ORDER BY provider, organization_id LIMIT 1)
      UNION ALL
      SELECT following.provider, following.organization_id FROM accounts a CROSS JOIN LATERAL (
        SELECT provider, organization_id FROM ${table}
        WHERE ${open} AND (provider, organization_id) > (a.provider, a.organization_id)
        ORDER BY provider, organization_id LIMIT 1
      ) following
    )
    SELECT id, at FROM (
      SELECT o.id, o.at, a.provider, row_number() OVER (PARTITION BY a.provider ORDER BY o.at, o.id) AS place
      FROM accounts a CROSS JOIN LATERAL (
        SELECT ${id} AS id, ${at} AS at FROM ${table}
        WHERE ${open} AND provider = a.provider AND organization_id = a.organization_id AND ${due}
        ORDER BY ${at}, ${id} LIMIT ${roomOf('accounts', "a.provider || ' ' || a.organization_id")}
      ) o
    ) of_providers WHERE place <= ${roomOf('providers', 'provider')}`;
}

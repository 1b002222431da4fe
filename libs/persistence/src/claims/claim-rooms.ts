/** Most rows that a claim may take, by holder. */
interface HolderRooms {
  readonly of: Readonly<Record<string, number>>;
  /** For holders that are not in `of`. */
  readonly newcomer: number;
}

/** Most rows that a claim may take of each provider, and of each organization at a provider (`provider organization`). */
export interface ClaimRooms {
  readonly accounts: HolderRooms;
  readonly providers: HolderRooms;
}

interface ClaimedTable {
  readonly table: string;
  /** Column names: the key, and the time that orders the queue. */
  readonly id: string;
  readonly at: string;
  /** SQL condition for rows that may be claimed. */
  readonly due: string;
}

/**
 * Returns SQL that selects `id` and `at` of rows to claim: the oldest of each account and provider, up to its room. Rows
 * that wait for a slow provider do not keep rows of other providers from being claimed.
 *
 * @param rooms SQL of {@link ClaimRooms} as json; null where there are none
 * @param limit SQL of the most rows that are wanted
 */
export function withinRooms({ table, id, at, due }: ClaimedTable, rooms: string, limit: string): string {
  const roomOf = (kind: string, holder: string): string =>
    `coalesce((${rooms}::jsonb->'${kind}'->'of'->>${holder})::integer, (${rooms}::jsonb->'${kind}'->>'newcomer')::integer, ${limit}::integer)`;
  return `
    SELECT id, at FROM (
      SELECT id, at, provider, row_number() OVER (PARTITION BY provider ORDER BY at, id) AS place FROM (
        SELECT ${id} AS id, ${at} AS at, provider, provider || ' ' || organization_id AS account,
          row_number() OVER (PARTITION BY provider, organization_id ORDER BY ${at}, ${id}) AS place
        FROM ${table} WHERE ${due}
      ) of_accounts WHERE place <= ${roomOf('accounts', 'account')}
    ) of_providers WHERE place <= ${roomOf('providers', 'provider')}`;
}

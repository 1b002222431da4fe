/** How many rows a claim may take of one holder. */
interface HolderRooms {
  readonly of: Readonly<Record<string, number>>;
  /** Of one that is not named. */
  readonly newcomer: number;
}

/** How many rows a claim may take of each provider, and of each organization at each (`provider organization`). */
export interface ClaimRooms {
  readonly accounts: HolderRooms;
  readonly providers: HolderRooms;
}

interface ClaimedTable {
  readonly table: string;
  /** Columns: the key, and the time by which those that waited longest come first. */
  readonly id: string;
  readonly at: string;
  /** What may be claimed, over columns of the table. */
  readonly due: string;
}

/**
 * SQL for what may be claimed, as rows of `id` and `at`: of each account and each provider those that waited longest,
 * as many as there is room for. So what a provider leaves waiting stands before nothing of others.
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
